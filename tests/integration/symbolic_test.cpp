// One plan of an ONNX model for every batch and time: the Conformer against numpy, and the command
// line. (Against plans of exact shapes: conformer_test.cpp.)
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "tests/integration/place.h"
#include "tests/support/model_files.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::integration;
using hearth::onnx::ModelBuilder;

namespace {

// Of the largest value of the output.
constexpr double kSymbolicTolerance = 1e-5;

std::vector<float> floats(const client::Array& array) {
  std::vector<float> values(array.bytes.size() / sizeof(float));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

double difference(const float* got, const std::vector<float>& want) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
    largest = std::max(largest, std::fabs(static_cast<double>(want[i])));
  }
  return worst / largest;
}

// The output for `x` [b, t, width of x], which is the plan's only input.
std::vector<float> replay_symbolic(client::Instance& instance, const std::string& input, const std::vector<float>& x) {
  const auto view = instance.input(input);
  REQUIRE(view.ok());
  REQUIRE(view->size_bytes == x.size() * sizeof(float));
  std::memcpy(view->data, x.data(), view->size_bytes);
  REQUIRE(instance.execute().ok());
  const auto out = instance.output("out");
  REQUIRE(out.ok());
  const auto* values = static_cast<const float*>(out->data);
  return {values, values + out->size_bytes / sizeof(float)};
}

}  // namespace

TEST_CASE("the Conformer with symbolic batch and time: numpy's outputs", "[device]") {
  const fs::path folder = hearth::test::made_models() / "bench";
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  const std::string name = "conformer_d256_h4_t256_dynamic";
  const auto model = onnx::import_model(folder / (name + ".onnx"), {.dims = {{"batch", {1, 4}}, {"time", {1, 256}}}});
  INFO(model.status().message());
  REQUIRE(model.ok());
  client::PrepareConfig config{.socket = place.socket(), .threads = 2, .auto_start = false};
  if (const char* const device = std::getenv("HEARTH_TEST_DEVICE")) config.device = device;
  const auto plan = client::prepare(model->outputs, config);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto instance = plan->instantiate();
  REQUIRE(instance.ok());
  for (const char* shape : {"1x256x256", "3x37x256", "1x100x256"}) {
    CAPTURE(shape);
    const auto x = client::read_npy(folder / (name + "." + shape + ".in.in0.npy"));
    const auto want = client::read_npy(folder / (name + "." + shape + ".out.out.npy"));
    REQUIRE((x.ok() && want.ok()));
    REQUIRE(instance->set_var("batch", x->shape[0]).ok());
    REQUIRE(instance->set_var("time", x->shape[1]).ok());
    const std::vector<float> got = replay_symbolic(*instance, "in0", floats(*x));
    CHECK(instance->output("out")->shape == want->shape);
    REQUIRE(got.size() * sizeof(float) == want->bytes.size());
    CHECK(difference(got.data(), floats(*want)) <= kSymbolicTolerance);
  }
  // The same through the command line: ranges, and lengths taken from the array or from --var.
  const std::string in = folder / (name + ".3x37x256.in.in0.npy");
  const std::vector<std::string> words = {
      "hearth", "run", folder / (name + ".onnx"), "--dim", "batch=1:4", "--dim", "time=1:256", "--json"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  CHECK(place.json(with({"--input", "in0=" + in}))["outputs"][0]["shape"] == nlohmann::json({3, 37, 256}));
  CHECK(place.json(with({"--var", "time=5"}))["outputs"][0]["shape"] == nlohmann::json({4, 5, 256}));
  CHECK_THAT(place.run(with({"--var", "time=257"})).err,
             Catch::Contains("hearth: --var time=257: variable 'time' cannot be 257; expected 1 to 256\n"));
  CHECK(place.run(with({"--var", "length=3"})).err.find("the plan has: 'batch', 'time'") != std::string::npos);
  CHECK(place.run(with({"--input", "in0=" + in, "--var", "time=36"}))
            .err.find("is 36 by --var time=36 but input 'in0'") != std::string::npos);
  // And from a plan file, with no daemon.
  std::vector<std::string> saving = {"hearth", "export", words[2], "-o", place.file("plan.hearth")};
  saving.insert(saving.end(), words.begin() + 3, words.end());
  CHECK(place.json(saving)["kernels"] == plan->stats().kernels);
  place.stop_daemon();
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  const auto from_file = place.json({"hearth", "run", place.file("plan.hearth"), "--input", "in0=" + in, "--var",
                                     "batch=3", "--var", "time=37", "--output-dir", place.file("out"), "--json"});
  const auto got = client::read_npy(from_file["outputs"][0]["file"].get<std::string>());
  const auto want = client::read_npy(folder / (name + ".3x37x256.out.out.npy"));
  REQUIRE((got.ok() && want.ok()));
  REQUIRE(got->shape == want->shape);
  CHECK(difference(reinterpret_cast<const float*>(got->bytes.data()), floats(*want)) <= kSymbolicTolerance);
  const auto inferred = place.json({"hearth", "run", place.file("plan.hearth"), "--input", "in0=" + in, "--json"});
  CHECK(inferred["outputs"][0]["shape"] == nlohmann::json({3, 37, 256}));
  CHECK(place.daemons().empty());
  CHECK(place.run({"hearth", "run", folder / (name + ".onnx"), "--dim", "batch=1:x"}).err ==
        "hearth: --dim batch=1:x: '1:x' is not MIN:MAX or MIN:MAX:STEP\n");
}

TEST_CASE("one plan in parts of a range: right at every length, and prewarmed, sealed and exported as any other") {
  Place place;
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "deep"}).input("w", {24, 40});
  m.node("MatMul", {"x", "w"}, {"p"}).node("Softmax", {"p"}, {"y"}).output("y");
  const std::string path = place.write("m.onnx", m.proto().SerializeAsString());
  std::vector<float> rows(8 * 24);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 17) / 7;
  const auto run = [&](const std::string& dim, std::int64_t batch, const std::string& of) {
    const std::size_t bytes = static_cast<std::size_t>(batch) * 24 * sizeof(float);
    REQUIRE(client::write_npy(place.file("x.npy"), DType::kF32, {batch, 24}, rows.data(), bytes).ok());
    std::vector<std::string> words = {"hearth",
                                      "run",
                                      of,
                                      "--seed",
                                      "3",
                                      "--input",
                                      "x=" + place.file("x.npy"),
                                      "--threads",
                                      "2",
                                      "--output-dir",
                                      place.file("out"),
                                      "--json"};
    if (!dim.empty()) words.insert(words.end(), {"--dim", "deep=24", "--dim", dim});
    const auto json = place.json(words);
    const auto y = client::read_npy(json["outputs"][0]["file"].get<std::string>());
    REQUIRE(y.ok());
    CHECK(y->shape == std::vector<std::int64_t>{batch, 40});
    return std::pair(json["plan_key"].get<std::string>(), floats(*y));
  };
  std::set<std::string> keys;
  std::map<std::int64_t, std::vector<float>> exact;
  for (const std::int64_t batch : {1, 2, 3, 4, 5, 8})
    exact[batch] = run("batch=" + std::to_string(batch), batch, path).second;
  for (const char* parts : {"batch=1:8", "batch=1,4,8", "batch=2,8", "batch=1:8@1,4,8"}) {
    for (const auto& [batch, want] : exact) {
      CAPTURE(parts, batch);
      const auto [key, got] = run(parts, batch, path);
      keys.insert(key);
      REQUIRE(got.size() == want.size());
      CHECK(difference(got.data(), want) <= 1e-6);
    }
  }
  CHECK(keys.size() == 4);
  const std::vector<std::string> dims = {"--dim", "deep=24", "--dim", "batch=1,3,8", "--threads", "2"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), dims.begin(), dims.end());
    return words;
  };
  CHECK(place.run(with({"hearth", "run", path, "--sealed"})).code == 1);
  CHECK(place.run(with({"hearth", "prewarm", path})).code == 0);
  CHECK(place.run(with({"hearth", "run", path, "--sealed", "--var", "batch=2"})).code == 0);
  CHECK(place.run(with({"hearth", "export", path, "-o", place.file("plan.hearth")})).code == 0);
  for (const auto& [batch, want] : exact) {
    const auto got = run("", batch, place.file("plan.hearth")).second;
    CHECK(difference(got.data(), want) <= 1e-6);
  }
}

TEST_CASE("lengths that are multiples: a pyramid of images of any such size, and others refused at the input") {
  Place place;
  ModelBuilder m(17);
  m.symbolic_input("x", {"one", "three", "h", "w"}).input("w1", {16, 3, 3, 3}).input("w2", {16, 16, 3, 3});
  const std::vector<std::int64_t> two = {2, 2}, pads = {1, 1, 1, 1};
  m.node("Conv", {"x", "w1"}, {"a"}).attr("strides", two).attr("pads", pads);
  m.node("Conv", {"a", "w2"}, {"b"}).attr("strides", two).attr("pads", pads);
  m.node("Shape", {"a"}, {"size"}).node("Resize", {"b", "", "", "size"}, {"up"}).attr_text("mode", "linear");
  m.node("Add", {"a", "up"}, {"y"}).output("y");
  const std::string path = place.write("m.onnx", m.proto().SerializeAsString());
  const std::vector<std::string> known = {"--dim", "one=1", "--dim", "three=3"};
  const auto run = [&](std::int64_t h, std::int64_t w, const std::string& of_h, const std::string& of_w) {
    std::vector<float> x(static_cast<std::size_t>(3 * h * w));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23) / 11 - 1;
    REQUIRE(client::write_npy(place.file("x.npy"), DType::kF32, {1, 3, h, w}, x.data(), x.size() * sizeof(float)).ok());
    std::vector<std::string> words = {"hearth",
                                      "run",
                                      path,
                                      "--seed",
                                      "3",
                                      "--input",
                                      "x=" + place.file("x.npy"),
                                      "--output-dir",
                                      place.file("out"),
                                      "--json",
                                      "--dim",
                                      "h=" + of_h,
                                      "--dim",
                                      "w=" + of_w};
    words.insert(words.end(), known.begin(), known.end());
    return words;
  };
  for (const auto& [h, w] : std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}, {8, 20}, {32, 4}, {64, 64}}) {
    CAPTURE(h, w);
    place.json(run(h, w, std::to_string(h), std::to_string(w)));
    const auto want = client::read_npy(place.file("out") + "/y.npy");
    place.json(run(h, w, "4:64:4", "4:64:4"));
    const auto got = client::read_npy(place.file("out") + "/y.npy");
    REQUIRE((want.ok() && got.ok()));
    CHECK(got->shape == want->shape);
    CHECK(difference(reinterpret_cast<const float*>(got->bytes.data()), floats(*want)) <= kSymbolicTolerance);
  }
  const auto error = [&](std::int64_t h, const std::string& of_h) { return place.run(run(h, 8, of_h, "8")).err; };
  CHECK_THAT(error(6, "4:64:4"),
             Catch::Contains("input 'x' has length 6 along axis 2; expected a multiple of 4, 4 to 64"));
  CHECK_THAT(error(8, "4:66:4"), Catch::Contains("--dim h=4:66:4: 4 and 66 are no multiples of 4"));
  CHECK_THAT(error(8, "4:64:0"), Catch::Contains("no multiples of 0"));
  CHECK_THAT(error(8, "4:64"), Catch::Contains("which is no whole number of times as long"));
  std::vector<std::string> words = {"hearth", "run", path, "--dim", "h=4:64:4", "--dim", "w=8", "--var", "h=10"};
  words.insert(words.end(), known.begin(), known.end());
  CHECK_THAT(place.run(words).err, Catch::Contains("variable 'h' cannot be 10; expected a multiple of 4, 4 to 64"));
}

TEST_CASE("lengths in parts that cannot be are refused in one line each") {
  Place place;
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch"}).node("Relu", {"x"}, {"y"}).output("y");
  const std::string path = place.write("m.onnx", m.proto().SerializeAsString());
  const auto error = [&](const std::string& dim) {
    const auto ran = place.run({"hearth", "run", path, "--dim", "batch=" + dim});
    CHECK(ran.code == 2);
    return ran.err;
  };
  CHECK(error("4,1,8") ==
        "hearth: --dim batch=4,1,8: 1 stands behind 4; write lengths in ascending order, each once\n");
  CHECK(error("4,4") == "hearth: --dim batch=4,4: 4 stands behind 4; write lengths in ascending order, each once\n");
  CHECK(error("1,x") == "hearth: --dim batch=1,x: 'x' is no number\n");
  CHECK(error("1:8@9") == "hearth: --dim batch=1:8@9: 9 lies outside of 1:8\n");
  CHECK(error("8@1") == "hearth: --dim batch=8@1: no MIN:MAX stands before '@'\n");
  CHECK(error("-4,8") == "hearth: --dim batch=-4,8: -4 is no length\n");
  CHECK(error("1:8@") == "hearth: --dim batch=1:8@: '' is no number\n");
}
