// One plan of an ONNX model for every batch and time: the benchmark Conformer against ONNX Runtime, and the command
// line. (Against plans of exact shapes: conformer_test.cpp.)
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "tests/integration/place.h"
#include "tests/support/skip.h"

using namespace hearth;
using namespace hearth::integration;

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

TEST_CASE("the benchmark Conformer with symbolic batch and time: ONNX Runtime's outputs", "[device]") {
  const fs::path folder = shared_model("bench");
  if (folder.empty()) SKIP_CASE("../shared/models/bench is not there");
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
  CHECK(place.run(with({"--var", "time=257"})).err ==
        "hearth: --var time=257: variable 'time' cannot be 257; expected 1 to 256\n");
  CHECK(place.run(with({"--var", "length=3"})).err.find("the plan has: 'batch', 'time'") != std::string::npos);
  CHECK(place.run(with({"--input", "in0=" + in, "--var", "time=36"}))
            .err.find("is 36 by --var time=36 but input 'in0'") != std::string::npos);
  // And from a plan file, with no daemon.
  std::vector<std::string> saving = {"hearth", "export", words[2], "-o", place.file("plan")};
  saving.insert(saving.end(), words.begin() + 3, words.end());
  CHECK(place.json(saving)["kernels"] == plan->stats().kernels);
  place.stop_daemon();
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  const auto from_file = place.json({"hearth", "run", place.file("plan"), "--input", "in0=" + in, "--var", "batch=3",
                                     "--var", "time=37", "--output-dir", place.file("out"), "--json"});
  const auto got = client::read_npy(from_file["outputs"][0]["file"].get<std::string>());
  const auto want = client::read_npy(folder / (name + ".3x37x256.out.out.npy"));
  REQUIRE((got.ok() && want.ok()));
  REQUIRE(got->shape == want->shape);
  CHECK(difference(reinterpret_cast<const float*>(got->bytes.data()), floats(*want)) <= kSymbolicTolerance);
  const auto inferred = place.json({"hearth", "run", place.file("plan"), "--input", "in0=" + in, "--json"});
  CHECK(inferred["outputs"][0]["shape"] == nlohmann::json({3, 37, 256}));
  CHECK(place.daemons().empty());
  CHECK(place.run({"hearth", "run", folder / (name + ".onnx"), "--dim", "batch=1:x"}).err ==
        "hearth: --dim batch=1:x: '1:x' is not MIN:MAX\n");
}
