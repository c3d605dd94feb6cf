// A recurrence of very many steps: one run, whatever the device.
#include <catch2/catch.hpp>
#include <cmath>

#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;

namespace {

constexpr std::int64_t kSteps = 10'000, kInputs = 3, kHidden = 4;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<float> pattern(std::size_t count, std::size_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 37 + seed * 11) % 23) / 23 - 0.5F);
  return values;
}

}  // namespace

TEST_CASE("an LSTM of 10,000 steps is one run, and right to its last step") {
  const integration::LiveDaemon daemon;
  const std::vector<float> x = pattern(kSteps * kInputs, 1), w = pattern(4 * kHidden * kInputs, 2),
                           r = pattern(4 * kHidden * kHidden, 3), b = pattern(4 * kHidden, 4), none(kHidden, 0);
  const auto weights = [](const char* name, std::vector<Dim> shape, const std::vector<float>& values) {
    return parameter(name, std::move(shape), DType::kF32, bytes_of(values));
  };
  const Tensor zeros = weights("zeros", {1, kHidden}, none);
  const LstmResult result =
      lstm(input("x", {kSteps, 1, kInputs}, DType::kF32), {zeros, zeros}, weights("w", {4 * kHidden, kInputs}, w),
           weights("r", {4 * kHidden, kHidden}, r), weights("b", {4 * kHidden}, b));
  const auto plan = prepare({{"y", result.y}, {"h", result.last.h}}, daemon.config());
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto instance = plan->instantiate();
  INFO(instance.status().message());
  REQUIRE(instance.ok());
  REQUIRE(instance->input("x")->copy_from(x).ok());
  REQUIRE(instance->execute().ok());

  std::vector<double> h(kHidden, 0), c(kHidden, 0);
  double worst = 0;
  const auto y = *instance->output("y")->as<float>();
  for (std::int64_t t = 0; t < kSteps; ++t) {
    std::vector<double> gates;
    for (std::size_t g = 0; g < 4 * kHidden; ++g) {
      double sum = b[g];
      for (std::size_t i = 0; i < kInputs; ++i)
        sum += static_cast<double>(w[g * kInputs + i]) * x[static_cast<std::size_t>(t) * kInputs + i];
      for (std::size_t i = 0; i < kHidden; ++i) sum += r[g * kHidden + i] * h[i];
      gates.push_back(sum);
    }
    for (std::size_t i = 0; i < kHidden; ++i) {  // PyTorch's order: i, f, g, o
      c[i] = sigmoid(gates[kHidden + i]) * c[i] + sigmoid(gates[i]) * std::tanh(gates[2 * kHidden + i]);
      h[i] = sigmoid(gates[3 * kHidden + i]) * std::tanh(c[i]);
      worst = std::max(worst, std::fabs(h[i] - y[static_cast<std::size_t>(t) * kHidden + i]));
    }
  }
  CHECK(worst < 1e-5);
  CHECK((*instance->output("h")->as<float>())[0] == y[(kSteps - 1) * kHidden]);
}
