// Models from file to result through a daemon of this test's own, against reference outputs: digits, Silero VAD and
// workloads (tests/models).
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "examples/silero_vad/segments.h"
#include "hearth/npy.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"
#include "tests/unit/cli/program.h"

using namespace hearth;
using namespace hearth::cli;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

// Stops the daemon that the programs of one test started.
struct DaemonStopper {
  ~DaemonStopper() { run_with_daemon("hearth", "daemon stop"); }
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<float> read_numbers(const fs::path& path) {
  std::ifstream file(path);
  return {std::istream_iterator<float>(file), std::istream_iterator<float>()};
}

double largest_difference(const std::string& got_file, const std::string& want_file) {
  const auto got = client::read_npy(got_file);
  const auto want = client::read_npy(want_file);
  if (!got.ok() || !want.ok() || got->shape != want->shape || got->dtype != DType::kF32) return 1e9;
  double largest = 0;
  for (std::size_t i = 0; i < got->bytes.size(); i += sizeof(float)) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, got->bytes.data() + i, sizeof(a));
    std::memcpy(&b, want->bytes.data() + i, sizeof(b));
    const double difference = std::fabs(static_cast<double>(a) - static_cast<double>(b));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace

TEST_CASE("a result whose length depends on the data is written as long as it is") {
  const fs::path model = "/usr/share/libonnx-testdata/data/node/test_nonzero_example/model.onnx";
  if (!fs::exists(model)) SKIP_CASE("ONNX's test cases are not installed (libonnx-testdata)");
  DaemonStopper stopper;
  const std::string input = scratch_dir() + "/condition.npy", folder = scratch_dir() + "/nonzero";
  REQUIRE(client::write_npy(input, DType::kBool, {2, 2}, "\1\0\1\1", 4).ok());
  const Ran run = run_with_daemon(
      "hearth", "run " + model.string() + " --threads 1 --input condition=" + input + " --output-dir " + folder);
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK_THAT(run.out, Contains("output result i64[2, 3]"));
  const auto result = client::read_npy(folder + "/result.npy");
  REQUIRE(result.ok());
  const std::int64_t expected[] = {0, 1, 1, 0, 0, 1};
  REQUIRE(result->bytes.size() == sizeof(expected));
  CHECK(std::memcmp(result->bytes.data(), expected, sizeof(expected)) == 0);
}

TEST_CASE("digits: accuracy, then a second process that compiles nothing and gives the same bits") {
  DaemonStopper stopper;
  const std::string folder = source_dir() + "/examples/digits/";
  const std::string arguments = "--model " + folder + "digits.onnx --images " + folder + "digits_images.npy --labels " +
                                folder + "digits_labels.npy --out " + scratch_dir();
  const Ran first = run_with_daemon("digits", arguments + "/first.npy");
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.out, Contains("accuracy        98.75 %"));
  const Ran second = run_with_daemon("digits", arguments + "/second.npy");
  REQUIRE(second.code == 0);
  CHECK_THAT(second.out, Contains(" 0 compiled now"));
  CHECK(content(scratch_dir() + "/first.npy") == content(scratch_dir() + "/second.npy"));
  const Ran run =
      run_with_daemon("hearth", "run " + folder + "digits.onnx --repeat 3 --profile --json --input image=" + folder +
                                    "digits_images.npy --output-dir " + scratch_dir() + "/out_dir");
  INFO(run.err);
  REQUIRE(run.code == 0);
  for (const char* field : {"\"prepare_ms\"", "\"kernels\"", "\"compiled_kernels\"", "\"cache_hits\"", "\"replay_us\"",
                            "\"min\"", "\"p50\"", "\"p99\"", "\"device\": \"cpu\"", "\"threads\"", "\"profile\"",
                            "\"name\": \"probability\"", "probability.npy"}) {
    CHECK_THAT(run.out, Contains(field));
  }
  CHECK(largest_difference(scratch_dir() + "/out_dir/probability.npy", scratch_dir() + "/first.npy") < 1e-5);
  const Ran explain = run_with_daemon("hearth", "explain " + folder + "digits.onnx");
  CHECK(explain.code == 0);
  CHECK_THAT(explain.out, Contains("conv1") && Contains("rangeify") && !Contains("build_id"));
  CHECK_THAT(run_with_daemon("hearth", "explain --dump " + folder + "digits.onnx").out, Contains("build_id"));
  CHECK_THAT(run_with_daemon("hearth", "stats --json").out, Contains("\"plan_misses\""));
  CHECK_THAT(run_with_daemon("hearth", "cache verify").out, Contains("0 quarantined"));
  CHECK(run_with_daemon("hearth", "cache clear").code == 0);
  CHECK(run_with_daemon("hearth", "daemon status").code == 0);
  CHECK_THAT(run_with_daemon("hearth", "stats").out, Contains("sandbox") && Contains(" of 10 layers"));
  CHECK_THAT(run_with_daemon("hearth", "daemon status").out, Contains("\nsandbox  best-effort: "));
  CHECK_THAT(run_with_daemon("hearth", "daemon status --json").out, Contains("\"layer\": \"seccomp\""));
}

TEST_CASE("Silero VAD: every probability of the recording, and the same segments") {
  const fs::path model = test::model_file("silero_vad_16k_op15.onnx");
  if (model.empty()) SKIP_CASE(test::no_model("silero_vad_16k_op15.onnx"));
  const fs::path wav = test::model_file("speech_16k.wav");
  DaemonStopper stopper;
  const std::string probs = scratch_dir() + "/probs.txt";
  const Ran ran =
      run_with_daemon("silero_vad", "--model " + model.string() + " --wav " + wav.string() + " --probs " + probs);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const std::vector<float> got = read_numbers(probs);
  const std::vector<float> want = read_numbers(test::model_file("silero_probs_speech_16k.txt"));
  REQUIRE(want.size() == 1875);
  REQUIRE(got.size() == want.size());
  float largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::fabs(got[i] - want[i]));
  std::cout << "Silero VAD: largest difference of " << got.size() << " probabilities " << largest << "\n";
  CHECK(largest < 1e-4F);
  CHECK(examples::find_segments(got, 960000) == examples::find_segments(want, 960000));
}

TEST_CASE("workloads match numpy") {
  const fs::path folder = test::made_models() / "bench";
  DaemonStopper stopper;
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    const std::size_t mark = file.find(".out.out.npy");
    if (mark == std::string::npos) continue;
    const std::string name = file.substr(0, mark);
    const std::string model = name.substr(0, name.find('.'));
    std::string arguments =
        "run " + (folder / (model + ".onnx")).string() + " --output-dir " + scratch_dir() + "/bench";
    for (const char* input : {"in0", "in1", "in2"}) {
      const fs::path array = folder / (name + ".in." + input + ".npy");
      if (fs::exists(array)) arguments += std::string(" --input ") + input + "=" + array.string();
    }
    const Ran ran = run_with_daemon("hearth", arguments);
    INFO(name << ": " << ran.err);
    REQUIRE(ran.code == 0);
    CHECK(largest_difference(scratch_dir() + "/bench/out.npy", entry.path().string()) < 1e-4);
    ++compared;
  }
  CHECK(compared >= 8);
}
