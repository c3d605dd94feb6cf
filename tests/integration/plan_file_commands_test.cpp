// Plan files (.hearth) on the command line: what every command makes of them, with no daemon.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hearth/npy.h"
#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::DType;
using hearth::onnx::ModelBuilder;
namespace client = hearth::client;

namespace {

const std::vector<float> kWeights = {0.5f, -1, 2, 3, 0.25f, -4};

// y[batch, 2] = x[batch, 3] · w + 1, and the weights as a safetensors file.
struct Files {
  std::string model, weights;
};

Files save_model(const Place& place, const std::vector<float>& weights = kWeights, const std::string& name = "m") {
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", ""}).floats("w", {3, 2}, weights).floats("one", {1}, {1});
  m.proto()
      .mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(3);
  m.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "one"}, {"y"}).output("y");
  const std::string header = R"({"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}})";
  const std::uint64_t length = header.size();
  return {place.write(name + ".onnx", m.proto().SerializeAsString()),
          place.write(name + ".safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header +
                                                 std::string(reinterpret_cast<const char*>(weights.data()), 24))};
}

std::string array(const Place& place, const std::string& name, std::int64_t batch) {
  std::vector<float> values(static_cast<std::size_t>(batch) * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  REQUIRE(client::write_npy(place.file(name), DType::kF32, {batch, 3}, values.data(), values.size() * 4).ok());
  return place.file(name);
}

// Whether the outputs of a run in `folder` are those of the weights, for the array above.
void check_outputs(const Place& place, const std::string& folder, std::int64_t batch) {
  const auto y = client::read_npy(place.file(folder) + "/y.npy");
  INFO(y.status().message());
  REQUIRE(y.ok());
  REQUIRE(y->shape == std::vector<std::int64_t>{batch, 2});
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch) * 2; ++i) {
    float got = 0, wanted = 1;
    std::memcpy(&got, y->bytes.data() + 4 * i, 4);
    for (std::size_t k = 0; k < 3; ++k) wanted += static_cast<float>(i / 2 * 3 + k) * kWeights[2 * k + i % 2];
    CHECK(got == Approx(wanted));
  }
}

// Exports and leaves no daemon behind: none may be needed any more.
std::string exported(Place& place, const Files& files, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"hearth", "export",   files.model, "-o", place.file("m.hearth"),
                                    "--dim",  "batch=1:4"};
  words.insert(words.end(), more.begin(), more.end());
  place.run_ok(words);
  place.stop_daemon();
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  return place.file("m.hearth");
}

}  // namespace

TEST_CASE("plan files: one under a model's name is machine code that is not run") {
  Place place;
  const std::string plan = exported(place, save_model(place), {});
  const std::string renamed = place.file("from-elsewhere.onnx");
  std::filesystem::copy_file(plan, renamed);
  const Ran refused = place.run({"hearth", "run", renamed, "--input", "x=" + array(place, "x.npy", 2)});
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Contains(renamed) && Contains("this is a plan file, machine code of whoever wrote it") &&
                              Contains("name it *.hearth"));
  for (const std::string& run : {plan, renamed}) {
    std::vector<std::string> words = {"hearth", "run", run, "--input", "x=" + array(place, "x.npy", 2)};
    if (run == renamed) words.push_back("--plan");
    place.run_ok(words);
  }
}

TEST_CASE("plan files: variables follow from the arrays that are given") {
  Place place;
  const std::string plan = exported(place, save_model(place), {});
  for (const std::int64_t batch : {1, 3, 4}) {
    CAPTURE(batch);
    const std::string x = array(place, "x.npy", batch);
    place.run_ok({"hearth", "run", plan, "--input", "x=" + x, "--output-dir", place.file("out")});
    check_outputs(place, "out", batch);
  }
  const Ran much = place.run({"hearth", "run", plan, "--input", "x=" + array(place, "x.npy", 5)});
  CHECK(much.code == 1);
  CHECK_THAT(much.err, Contains("input 'x'") && Contains("cannot be 5; expected 1 to 4"));
  const Ran at_odds =
      place.run({"hearth", "run", plan, "--input", "x=" + array(place, "x.npy", 2), "--var", "batch=3"});
  CHECK_THAT(at_odds.err, Contains("is 3 by --var batch=3 but input 'x' has length 2"));
}

TEST_CASE("plan files for another processor: made without its features, run where it has them, refused elsewhere") {
  for (const bool with_parameters : {true, false}) {
    if (!__builtin_cpu_supports("avx2")) break;
    Place place;
    const Files files = save_model(place);
    std::vector<std::string> more = {"--target", "cpu:x86-64-v3"};
    if (!with_parameters) more.emplace_back("--no-parameters");
    const std::string plan = exported(place, files, more);
    std::vector<std::string> run = {
        "hearth", "run", plan, "--input", "x=" + array(place, "x.npy", 3), "--output-dir", place.file("out")};
    if (!with_parameters) run.insert(run.end(), {"--parameters", files.weights});
    place.run_ok(run);
    check_outputs(place, "out", 3);
    CHECK_THAT(place.run_ok({"hearth", "inspect", plan}).out, Contains("x86"));
  }
  Place place;
  const std::string arm = exported(place, save_model(place), {"--target", "cpu:armv8.2-a"});
  const Ran elsewhere = place.run({"hearth", "run", arm, "--input", "x=" + array(place, "x.npy", 3)});
  CHECK(elsewhere.code == 1);
  CHECK_THAT(elsewhere.err, Contains("aarch64"));
  Place other;
  const Ran unknown =
      other.run({"hearth", "export", save_model(other).model, "-o", other.file("m"), "--target", "cpu:x86-64-v9"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("cpu:x86-64-v4"));
  CHECK(other.run({"hearth", "export", "m.onnx", "-o", "m", "--target", "null"}).code == 2);
}

TEST_CASE("plan files without parameters run when these are given: safetensors, or the model itself") {
  Place place;
  const Files files = save_model(place);
  const std::string plan = exported(place, files, {"--no-parameters"}), x = array(place, "x.npy", 2);
  const std::vector<std::string> words = {"hearth",         "run", plan, "--input", "x=" + x, "--output-dir",
                                          place.file("out")};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return place.run(all);
  };
  const Ran without = with({});
  CHECK(without.code == 1);
  CHECK_THAT(without.err, Contains("exported without its parameters") && Contains("'w'") && Contains("--parameters"));
  for (const std::string& source : {files.weights, files.model}) {
    CAPTURE(source);
    fs::remove_all(place.file("out"));
    const Ran ran = with({"--parameters", source});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    check_outputs(place, "out", 2);
  }
  const Files other = save_model(place, {1, 1, 1, 1, 1, 1}, "other");
  for (const std::string& wrong : {other.weights, other.model}) {
    const Ran ran = with({"--parameters", wrong});
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("'w'") && Contains("other bytes than the plan was exported with"));
  }
  CHECK_THAT(with({"--parameters", place.file("none")}).err, Contains("none"));
  const Ran model = place.run({"hearth", "run", files.model, "--dim", "batch=1", "--parameters", files.weights});
  CHECK(model.code == 2);
  CHECK_THAT(model.err, Contains("--parameters"));
}

TEST_CASE("plan files: inspect and explain say what they hold") {
  Place place;
  const std::string plan = exported(place, save_model(place), {});
  const auto json = place.json({"hearth", "inspect", plan, "--json"});
  INFO(json.dump(2));
  CHECK(json["format"] == "hearth plan file");
  CHECK(json["variables"] == nlohmann::json::parse(R"([{"name": "batch", "min": 1, "max": 4}])"));
  CHECK(json["inputs"][0]["shape"] == nlohmann::json({"batch", 3}));
  CHECK(json["memory"]["input_bytes"] == 4 * 3 * 4);
  CHECK(json["memory"]["parameter_bytes"] == 24);
  CHECK(json["command"] == "hearth run " + plan);
  CHECK(place.run({"/bin/sh", "-c", "PATH='" + bin_dir().string() + "':$PATH; " + json["command"].get<std::string>()})
            .code == 0);
  CHECK_THAT(place.run_ok({"hearth", "inspect", plan}).out, Contains("takes --var batch=N") && Contains("run it: "));

  const auto explained = place.json({"hearth", "explain", plan, "--json"});
  REQUIRE(explained["kernels"].size() >= 1);
  CHECK(explained["kernels"][0]["artifact_bytes"] > 0);
  CHECK(explained["memory"]["output_bytes"] == 4 * 2 * 4);
  CHECK_THAT(place.run_ok({"hearth", "explain", plan}).out, Contains("memory") && Contains("0  r_"));
}

TEST_CASE("plan files: what cannot be done with one says why, and never that it is a damaged model") {
  Place place;
  const std::string plan = exported(place, save_model(place), {});
  const std::vector<std::vector<std::string>> commands = {{"tune", plan},
                                                          {"export", plan, "-o", place.file("again")},
                                                          {"onnx", "check", plan},
                                                          {"explain", plan, "--kernel", "0"},
                                                          {"explain", plan, "--measure"}};
  for (const auto& words : commands) {
    CAPTURE(words[0]);
    std::vector<std::string> all = {"hearth"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran ran = place.run(all);
    CHECK(ran.code == 1);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains("is a plan file") && !Contains("not an ONNX model"));
  }
  const Ran warm = place.run_ok({"hearth", "prewarm", plan});  // nothing has to be done
  CHECK_THAT(warm.out, Contains("plan file") && Contains("nothing to do"));
  std::string bytes = content(plan);
  bytes[bytes.size() / 2] ^= 1;
  bytes[70] ^= 1;
  const std::string damaged = place.write("damaged.hearth", bytes);
  for (const char* command : {"run", "inspect", "explain", "prewarm"}) {
    const Ran ran = place.run({"hearth", command, damaged});
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("damaged.hearth") && Contains("export the plan again"));
  }
}
