// Bad input on the command line: one clear line, a non-zero exit, nothing on stdout.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "hearth/npy.h"
#include "tests/unit/cli/program.h"

using namespace hearth::cli;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string digits() { return source_dir() + "/examples/digits/digits.onnx"; }

void check_refused(const Ran& ran, int code, const std::string& program = "hearth") {
  INFO(ran.err);
  CHECK(ran.code == code);
  CHECK(ran.out.empty());
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  CHECK_THAT(ran.err, Catch::Matchers::StartsWith(program + ": "));
}

std::string write_file(const std::string& name, const std::string& bytes) {
  const std::string path = scratch_dir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

TEST_CASE("usage errors exit with 2 and say where help is") {
  for (const char* line : {"", "fly", "run", "run m.onnx --repeat 0", "run m.onnx --nope", "cache", "run a b"}) {
    const Ran ran = run_program("hearth", line);
    INFO(line);
    check_refused(ran, 2);
    CHECK_THAT(ran.err, Contains("(see hearth ") && Contains("--help)"));
  }
  CHECK(run_program("hearth", "--help").code == 0);
  CHECK_THAT(run_program("hearth", "--version").out, Contains("hearth "));
}

TEST_CASE("a mistyped command or option is told the nearest one") {
  const auto error = [](const std::string& line) {
    const Ran ran = run_program("hearth", line);
    check_refused(ran, 2);
    return ran.err;
  };
  CHECK_THAT(error("rnu m.onnx"), Contains("'rnu' is no command of hearth; did you mean 'run'?") &&
                                      Contains("Commands: run, export") && Contains("completion"));
  CHECK_THAT(error("-q stat"), Contains("did you mean 'stats'?"));
  CHECK_THAT(error("cache lss"), Contains("'lss' is no command of hearth cache; did you mean 'ls'?") &&
                                     Contains("ls, rm, verify, clear, export, import (see hearth cache --help)"));
  CHECK_THAT(error("help blobs prewram"), Contains("did you mean 'prewarm'?"));
  CHECK_THAT(error("fly"), !Contains("did you mean") && Contains("commands: run"));
  CHECK_THAT(error("run m.onnx --repat 3"), Contains("has no option '--repat'; did you mean '--repeat'?"));
  CHECK_THAT(error("daemon"), Contains("hearth daemon needs a command: start, stop, restart, status"));
}

TEST_CASE("what is wrong with an option or argument is said in plain words") {
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"run m.onnx --threads", "hearth: --threads needs a value"},
           {"run", "hearth: MODEL is missing"},
           {"run m.onnx --seed 1 --seed 2", "hearth: --seed was given 2 times; give it once"},
           {"run m.onnx --opt-level 7", "hearth: --opt-level: '7' is not a number from 0 to 2"},
           {"run m.onnx --weights f16", "hearth: --weights: 'f16' is none of f32, bf16, int8"},
           {"blobs doctor --arch ''", "hearth: --arch: the value is empty"}}) {
    const Ran ran = run_program("hearth", line);
    INFO(line);
    check_refused(ran, 2);
    CHECK_THAT(ran.err, Catch::StartsWith(words));
  }
}

TEST_CASE("an option that would be ignored is refused") {
  for (const char* line : {"tune m.onnx --sealed", "onnx check m.onnx --threads 2", "onnx check m.onnx --socket s",
                           "prewarm m.onnx --tune --sealed", "explain m.onnx --target null --threads 2",
                           "explain m.onnx --why-miss --measure"}) {
    INFO(line);
    check_refused(run_program("hearth", line), 2);
  }
}

TEST_CASE("a list is values with commas between, or an option that is given several times") {
  for (const char* line : {"prewarm no/a.onnx --threads 1,2", "prewarm no/a.onnx --threads 1 --threads 2",
                           "blobs doctor --arch gfx942,nonsense", "blobs doctor --arch gfx942 --arch nonsense"}) {
    INFO(line);
    CHECK(run_program("hearth", line).code == 1);
  }
  CHECK(run_program("hearth", "prewarm no/a.onnx --threads '1;2'").code == 2);
}

TEST_CASE("an option that says nothing without another one is refused, with that one") {
  for (const auto& [line, needed] :
       std::vector<std::pair<std::string, std::string>>{{"explain m.onnx --seed 1", "--seed requires --measure"},
                                                        {"prewarm m.onnx --budget 3", "--budget requires --tune"},
                                                        {"prewarm m.onnx --again", "--again requires --tune"}}) {
    const Ran ran = run_program("hearth", line);
    check_refused(ran, 2);
    CHECK_THAT(ran.err, Contains(needed));
  }
}

TEST_CASE("an input or dimension that is given twice is refused, with both") {
  Ran ran = run_program("hearth", "run m.onnx --dim batch=2 --threads 1 --dim batch=3");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, StartsWith("hearth: --dim: batch=2 and batch=3 both give 'batch'"));
  ran = run_program("hearth", "explain m.onnx --input x=a.npy --input x=b.npy");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, StartsWith("hearth: --input: x=a.npy and x=b.npy both give 'x'"));
}

TEST_CASE("seeds are whole numbers that are not negative") {
  for (const char* seed : {"-1", "1.5", "x", "18446744073709551616"}) {
    const Ran ran = run_program("hearth", std::string("run m.onnx --seed ") + seed);
    check_refused(ran, 2);
    CHECK_THAT(ran.err, Contains("--seed: '" + std::string(seed) + "' is not a whole number from 0 to"));
  }
  CHECK(run_program("hearth", "run no/such.onnx --seed 18446744073709551615").code == 1);
}

TEST_CASE("models and arrays that are not there or not what they say") {
  Ran ran = run_program("hearth", "run no/such.onnx");
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("no/such.onnx"));
  ran = run_program("hearth", "run " + write_file("garbage.onnx", "not a model at all"));
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("garbage.onnx is not an ONNX model"));
  ran = run_program("hearth", "run " + digits() + " --input image=" + write_file("garbage.npy", "no array"));
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("garbage.npy: is not a .npy file"));
  ran = run_program("hearth", "run " + digits() + " --input image");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, Contains("NAME=FILE.npy"));
  ran = run_program("hearth", "run " + digits() + " --dim batch=4x");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, Contains("'4x'"));
  ran = run_program("hearth", "explain " + digits() + " --dim batch=3");
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("no such dimension"));
}

TEST_CASE("inputs that do not fit the model") {
  const std::string path = scratch_dir() + "/x.npy";
  const std::vector<double> values(400 * 64);
  REQUIRE(hearth::client::write_npy(path, hearth::DType::kF64, {400, 1, 8, 8}, values.data(), values.size() * 8).ok());
  Ran ran = run_program("hearth", "run " + digits() + " --input image=" + path);
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("'image'") && Contains("f32") && Contains("f64"));
  ran = run_program("hearth", "run " + digits() + " --input picture=" + path);
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("no input 'picture'") && Contains("image"));
  REQUIRE(hearth::client::write_npy(path, hearth::DType::kF32, {7, 8}, values.data(), 224).ok());
  ran = run_program("hearth", "run " + digits() + " --input image=" + path);
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("4 axes") && Contains("[7, 8]"));
}

TEST_CASE("no daemon and none may be started") {
  Ran ran = run_program("hearth", "run " + digits());
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("none.sock"));
  ran = run_program("hearth", "stats");
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("no daemon is running") && Contains("hearth daemon start"));
  ran = run_program("hearth", "daemon status");
  CHECK(ran.code == 3);
  CHECK_THAT(ran.out, Contains("no daemon is running"));
  ran = run_program("hearth", "daemon status --json");
  CHECK(ran.code == 3);
  CHECK_THAT(ran.out, Contains("\"running\": false"));
  ran = run_program("hearth", "daemon stop");
  CHECK(ran.code == 0);
  // No case is at fault.
  const std::string cases = scratch_dir() + "/cases/one";
  std::filesystem::create_directories(cases + "/test_data_set_0");
  write_file("cases/one/model.onnx", "");
  ran = run_program("hearth", "onnx conformance " + scratch_dir() + "/cases");
  check_refused(ran, 1);
  CHECK_THAT(ran.err, Contains("none.sock"));
}

TEST_CASE("unknown devices and bad thread counts are named") {
  Ran ran = run_program("hearth", "run " + digits() + " --device tpu");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, Contains("tpu") && Contains("cpu"));
  ran = run_program("hearth", "run " + digits() + " --threads -4");
  check_refused(ran, 2);
  CHECK_THAT(ran.err, Contains("-4"));
}

TEST_CASE("prewarm lists what failed and exits 1") {
  const Ran ran = run_program("hearth", "prewarm no/a.onnx no/b.onnx --json");
  CHECK(ran.code == 1);
  CHECK_THAT(ran.out, Contains("no/a.onnx") && Contains("no/b.onnx") && Contains("\"failures\": 2"));
}

TEST_CASE("the example programs refuse bad files") {
  const std::string folder = source_dir() + "/examples/digits/";
  Ran ran = run_program("digits", "--model " + digits() + " --images " + folder + "digits_labels.npy --labels " +
                                      folder + "digits_labels.npy");
  check_refused(ran, 1, "digits");
  CHECK_THAT(ran.err, Contains("digits_labels.npy"));
  ran = run_program("silero_vad", "--model m.onnx --wav " + write_file("bad.wav", "RIFF....WAVEjunk"));
  check_refused(ran, 1, "silero_vad");
  CHECK_THAT(ran.err, Contains("bad.wav"));
}
