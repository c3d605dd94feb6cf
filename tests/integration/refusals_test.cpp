// What a user of the command line is refused, before anything is lost or time is spent, and with which remedy.
#include <catch2/catch.hpp>

#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::onnx::ModelBuilder;

namespace {

std::string save_refused(const Place& place, const std::string& name, ModelBuilder& m) {
  return place.write(name, m.proto().SerializeAsString());
}

// y = exp(x), three elements.
std::string exponential(const Place& place) {
  ModelBuilder m(17);
  m.input("x", {3}).node("Exp", {"x"}, {"y"}).output("y");
  return save_refused(place, "m.onnx", m);
}

// A line as a user would paste it: through a shell, with hearth in the PATH.
Ran pasted(Place& place, const std::string& line) {
  return place.run({"/bin/sh", "-c", "PATH='" + bin_dir().string() + "':$PATH; " + line});
}

}  // namespace

TEST_CASE("a number that is none, and options that a plan file cannot follow, are refused") {
  Place place;
  const std::string model = exponential(place), plan = place.file("m.hearth");
  for (const char* wrong : {"nan", "-nan", "inf", "0", "-1", "1e9"}) {
    CAPTURE(wrong);
    CHECK(place.run({"hearth", "run", model, "--timeout", wrong}).code == 2);
    CHECK(place.run({"hearth", "tune", model, "--budget", wrong}).code == 2);
  }
  for (const char* wrong : {"nan", "-1"})
    CHECK(place.run({"hearth", "onnx", "conformance", place.file(""), "--rtol", wrong}).code == 2);
  place.run_ok({"hearth", "export", model, "-o", plan});
  CHECK(place.run({"hearth", "run", plan, "--device", "cpu"}).code == 0);  // what it is
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--device", "null"},
                                                 {"--opt-level", "1"},
                                                 {"--fast-math"},
                                                 {"--direct-convolutions"}}) {
    std::vector<std::string> words = {"hearth", "run", plan};
    words.insert(words.end(), option.begin(), option.end());
    const Ran ran = place.run(words);
    CAPTURE(option[0], ran.err);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Contains(option[0]) && Contains("hearth export"));
  }
}

TEST_CASE("an empty folder, standard input twice, NumPy's own type: told before anything runs, with what to do") {
  Place place;
  const std::string model = exponential(place);
  const Ran empty = place.run({"hearth", "run", model, "--output-dir", ""});
  CHECK(empty.code == 2);
  CHECK_THAT(empty.err, Contains("--output-dir") && Contains("empty"));
  const Ran twice = pasted(place, "hearth run - --input x=- < '" + model + "'");
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Contains("standard input was read already"));
  CHECK_THAT(pasted(place, "hearth inspect - < '" + model + "'").out, Contains("run it: hearth run -\n"));
  std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
  text += "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
  text += std::string(127 - text.size(), ' ') + '\n' + std::string(24, '\0');
  const Ran wide = place.run({"hearth", "run", model, "--input", "x=" + place.write("f64.npy", text)});
  CHECK(wide.code == 1);
  CHECK_THAT(wide.err, Contains(".astype(numpy.float32)"));
  place.environment()["HEARTH_THREADS"] = "0";
  CHECK(place.run({"hearth", "run", model}).code == 0);
  CHECK_THAT(place.run({"hearth", "run", model, "--var", "q=1"}).err, Contains("the plan has: none"));
}

TEST_CASE("a limit of the daemon's is named where it stops a model") {
  Place place;
  const std::string model = exponential(place);
  place.environment()["HEARTH_MAX_NODES"] = "1";
  const Ran nodes = place.run({"hearth", "run", model});
  CHECK(nodes.code == 1);
  CHECK_THAT(nodes.err, Contains("the daemon's setting max_nodes"));
  place.stop_daemon();
  place.environment().erase("HEARTH_MAX_NODES");
  place.environment()["HEARTH_COMPILE_LIMIT_S"] = "0.001";
  const Ran late = place.run({"hearth", "run", model});
  CHECK(late.code == 1);
  CHECK_THAT(late.err, Contains("the daemon's setting compile_limit_s") && !Contains("--timeout"));
}

TEST_CASE("what a command reads is never overwritten by what it writes, whatever links lie between") {
  Place place;
  ModelBuilder two(17);
  two.input("x", {2}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"b"}).output("a").output("b");
  const std::string model = save_refused(place, "m.onnx", two), original = content(model);
  fs::create_symlink("m.onnx", place.file("soft.onnx"));
  fs::create_hard_link(model, place.file("hard.onnx"));
  for (const char* name : {"m.onnx", "soft.onnx", "hard.onnx", "./m.onnx"}) {
    CAPTURE(name);
    const Ran ran = place.run({"hearth", "export", model, "-o", place.file(name)});
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Contains("is the model, which would be overwritten"));
    CHECK(content(model) == original);
  }
  // The arrays that a run reads.
  const std::string folder = place.file("out");
  fs::create_directory(folder);
  place.run_ok({"hearth", "run", model, "--output-dir", folder});
  const std::string array = content(folder + "/a.npy");
  const Ran input = place.run({"hearth", "run", model, "--input", "x=" + folder + "/a.npy", "--output-dir", folder});
  CHECK(input.code == 2);
  CHECK_THAT(input.err, Contains("a.npy") && Contains("is the array of --input x"));
  CHECK(content(folder + "/a.npy") == array);
  // Two outputs in one file, also where that does not exist yet.
  fs::remove(folder + "/b.npy");
  fs::remove(folder + "/a.npy");
  fs::create_symlink("b.npy", folder + "/a.npy");
  const Ran both = place.run({"hearth", "run", model, "--output-dir", folder});
  CHECK(both.code == 2);
  CHECK_THAT(both.err, Contains("b.npy") && Contains("of output 'a'"));
  CHECK(place.run({"hearth", "export", model, "-o", "/dev/null"}).code == 0);
  // A plan file that is run, under the name of an output.
  const std::string plan = place.file("m.hearth");
  place.run_ok({"hearth", "export", model, "-o", plan});
  fs::remove(folder + "/a.npy");
  fs::create_hard_link(plan, folder + "/a.npy");
  const std::string exported = content(plan);
  const Ran replayed = place.run({"hearth", "run", plan, "--output-dir", folder});
  CHECK(replayed.code == 2);
  CHECK_THAT(replayed.err, Contains("is the plan file"));
  CHECK(content(plan) == exported);
}
