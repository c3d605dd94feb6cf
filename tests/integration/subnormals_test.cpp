// What becomes of subnormal floats on the CPU: weights, results, operands, and the floating-point mode of whoever calls.
#include "hearth/subnormals.h"

#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "hearth/evaluate.h"
#include "hearth/ops.h"
#include "hearth/plan_file.h"
#include "tests/integration/live_daemon.h"
#include "tests/support/skip.h"

namespace {

using namespace hearth;
using hearth::integration::LiveDaemon;

constexpr float kTiny = 1e-40F;
const std::vector<Subnormals> kAllModes = {Subnormals::kKeep, Subnormals::kResults, Subnormals::kAll};

client::PrepareConfig with(const LiveDaemon& daemon, Subnormals subnormals, int threads = 1) {
  client::PrepareConfig config = daemon.config();
  config.device = "cpu";
  config.subnormals = subnormals;
  config.threads = threads;
  return config;
}

std::vector<float> result_of(const Tensor& y, const std::vector<float>& x, const client::PrepareConfig& config) {
  const auto results = evaluate({y}, {{"x", view_of(x, {static_cast<std::int64_t>(x.size())})}}, config);
  INFO(results.status().message());
  REQUIRE(results.ok());
  const auto elements = results->at(0).elements<float>();
  REQUIRE(elements.ok());
  return {elements->begin(), elements->end()};
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) bits[i] = std::isnan(values[i]) ? 0x7fc00000 : bits[i];
  return bits;
}

// [4] weights as a model has them, used by `use` with an input x of [4].
template <typename Use>
std::vector<float> of_weights(const LiveDaemon& daemon, Subnormals mode, const std::vector<float>& weights,
                              const std::vector<float>& x, Use use) {
  const Tensor w = parameter("w", {static_cast<std::int64_t>(weights.size())}, DType::kF32, bytes_of(weights));
  return result_of(use(input("x", {static_cast<std::int64_t>(x.size())}, DType::kF32), w), x, with(daemon, mode));
}

std::uint32_t float_mode() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr();
#else
  return 0;
#endif
}

// Elsewhere the processor has no such mode for results alone.
bool can_flush() {
  if (float_mode() != 0) return true;
  test::skip_part("this processor cannot give zeros for subnormal results alone");
  return false;
}

}  // namespace

TEST_CASE("a subnormal result is zero of its sign, but where subnormal values are kept", "[cpu]") {
  if (!can_flush()) return;
  const LiveDaemon daemon;
  const Tensor x = input("x", {4}, DType::kF32);
  const std::vector<float> values = {1e-20F, -1e-20F, 1.0F, -0.0F};
  const Tensor y = x * 1e-20;
  CHECK(bits_of(result_of(y, values, with(daemon, Subnormals::kKeep))) ==
        bits_of({1e-20F * 1e-20F, -1e-20F * 1e-20F, 1e-20F, -0.0F}));
  for (const Subnormals mode : {Subnormals::kResults, Subnormals::kAll})
    CHECK(bits_of(result_of(y, values, with(daemon, mode))) == bits_of({0.0F, -0.0F, 1e-20F, -0.0F}));
  // As where nothing is said.
  client::PrepareConfig unsaid = daemon.config();
  unsaid.device = "cpu";
  CHECK(bits_of(result_of(y, values, unsaid)) == bits_of({0.0F, -0.0F, 1e-20F, -0.0F}));
}

TEST_CASE("a subnormal input is read as it is, but where operands are zeros, too", "[cpu]") {
  if (!can_flush()) return;
  const LiveDaemon daemon;
  const Tensor x = input("x", {2}, DType::kF32);
  const std::vector<float> values = {kTiny, -kTiny};
  const float large = kTiny * 1e30F;
  CHECK(result_of(x * 1e30, values, with(daemon, Subnormals::kKeep)) == std::vector<float>{large, -large});
  CHECK(result_of(x * 1e30, values, with(daemon, Subnormals::kResults)) == std::vector<float>{large, -large});
  CHECK(result_of(x * 1e30, values, with(daemon, Subnormals::kAll)) == std::vector<float>{0, 0});
  const std::vector<float> logs = result_of(log(abs(x)), values, with(daemon, Subnormals::kResults));
  CHECK(logs[0] == Approx(std::log(static_cast<double>(kTiny))).epsilon(1e-6));
}

TEST_CASE("subnormal weights are zeros where they are multiplied and added, and themselves wherever else they are used",
          "[cpu]") {
  const LiveDaemon daemon;
  const std::vector<float> weights = {kTiny, -kTiny, 2.0F, -0.0F}, x = {1e30F, 1e30F, 3.0F, 1.0F};
  const auto check = [&](const char* what, auto use, const std::vector<float>& kept, const std::vector<float>& lost) {
    INFO(what);
    CHECK(bits_of(of_weights(daemon, Subnormals::kKeep, weights, x, use)) == bits_of(kept));
    CHECK(bits_of(of_weights(daemon, Subnormals::kResults, weights, x, use)) == bits_of(lost));
  };
  const float large = kTiny * 1e30F;
  const auto product = [](const Tensor& a, const Tensor& w) { return a * w; };
  check("a product", product, {large, -large, 6.0F, -0.0F}, {0.0F, -0.0F, 6.0F, -0.0F});
  const auto sum = [](const Tensor& a, const Tensor& w) { return where(greater(a, 1e29), 0.0, a) + w; };
  check("a sum", sum, {kTiny, -kTiny, 5.0F, 1.0F}, {0.0F, 0.0F, 5.0F, 1.0F});
  const auto divided = [](const Tensor& a, const Tensor& w) { return where(greater(a, 1e29), kTiny, a) / w; };
  const float inf = INFINITY;
  check("a divisor", divided, {1.0F, -1.0F, 1.5F, -inf}, {1.0F, -1.0F, 1.5F, -inf});
  const auto compared = [](const Tensor& a, const Tensor& w) { return where(greater(w, 0.0), a, 0.0); };
  check("a comparison", compared, {1e30F, 0.0F, 3.0F, 0.0F}, {1e30F, 0.0F, 3.0F, 0.0F});
  const auto chosen = [](const Tensor& a, const Tensor& w) { return where(greater(a, 0.0), w, 0.0); };
  check("a copy", chosen, weights, weights);
  const auto largest = [](const Tensor& a, const Tensor& w) { return maximum(w, minimum(a, -1.0)); };
  check("a maximum", largest, weights, weights);
  const auto twice = [](const Tensor& a, const Tensor& w) { return (a * w) / w; };
  check("a factor that is a divisor, too", twice, {large / kTiny, large / kTiny, 3.0F, NAN},
        {large / kTiny, large / kTiny, 3.0F, NAN});
  const auto integer = [](const Tensor& a, const Tensor& w) { return cast(cast(w, DType::kI32), DType::kF32) * a; };
  check("an integer", integer, {0.0F, 0.0F, 6.0F, 0.0F}, {0.0F, 0.0F, 6.0F, 0.0F});
  const auto gathered = [](const Tensor& a, const Tensor& w) {
    return gather(w, cast(cast(less(a, 1e29), DType::kI64) * 2, DType::kI64), 0) * 1e30;
  };
  check("a table", gathered, {large, large, 2e30F, 2e30F}, {large, large, 2e30F, 2e30F});
}

TEST_CASE(
    "weights that are packed lose their subnormal values once, and plans that keep them have weights of their own",
    "[cpu]") {
  const LiveDaemon daemon;
  constexpr std::int64_t kRows = 512, kColumns = 640;
  const float least = std::ldexp(1.0F, -126);  // that is no subnormal
  std::vector<float> weights(kRows * kColumns);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = i % 3 == 0 ? kTiny * (i % 2 == 0 ? 1 : -1) : (static_cast<float>(i % 7) - 3) * least;
  std::vector<float> zeroed = weights;
  for (float& w : zeroed) w = std::abs(w) < least ? std::copysign(0.0F, w) : w;
  const auto products = [&](const std::vector<float>& w, Subnormals mode, DType stored) {
    const Tensor x = input("x", {kRows}, DType::kF32);
    std::string bytes(w.size() * dtype_bytes(stored), '\0');
    for (std::size_t i = 0; i < w.size(); ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, &w[i], sizeof bits);
      if (stored == DType::kBF16)
        bits >>= 16;  // the numbers above are exact there but for kTiny, which stays subnormal
      std::memcpy(bytes.data() + i * dtype_bytes(stored), &bits, dtype_bytes(stored));
    }
    const Tensor parameters = parameter("w", {kRows, kColumns}, stored, own_bytes(std::move(bytes)));
    const Tensor y = matmul(unsqueeze(x, {0}), cast(parameters, DType::kF32));
    std::vector<float> values(kRows, 1e30F);
    return bits_of(result_of(reshape(y, {kColumns}), values, with(daemon, mode)));
  };
  for (const DType stored : {DType::kF32, DType::kBF16}) {
    INFO(dtype_name(stored));
    const auto expected = products(zeroed, Subnormals::kKeep, stored);
    CHECK(products(weights, Subnormals::kResults, stored) == expected);
    CHECK(products(weights, Subnormals::kKeep, stored) != expected);
    CHECK(products(weights, Subnormals::kAll, stored) == expected);
  }
}

TEST_CASE("who calls a model finds the floating-point mode as it was, with the exceptions that were raised", "[cpu]") {
  const LiveDaemon daemon;
  const Tensor x = input("x", {1 << 16}, DType::kF32);
  const std::vector<float> values(1 << 16, 1e-30F);
  for (const Subnormals mode : kAllModes) {
    for (const int threads : {1, 2}) {
      INFO(subnormals_name(mode) << " " << threads);
      std::feclearexcept(FE_ALL_EXCEPT);
      std::feraiseexcept(FE_DIVBYZERO);
      const std::uint32_t before = float_mode();
      const std::vector<float> y = result_of(x * x, values, with(daemon, mode, threads));
      CHECK((float_mode() & ~0x3FU) == (before & ~0x3FU));
      CHECK(std::fetestexcept(FE_DIVBYZERO) != 0);
      // On every thread of the call.
      const float expected = mode == Subnormals::kKeep || float_mode() == 0 ? 1e-30F * 1e-30F : 0.0F;
      CHECK(std::ranges::all_of(y, [&](float value) { return value == expected; }));
      CHECK(std::fpclassify(values[0] * 1e-10F) == FP_SUBNORMAL);
    }
  }
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST_CASE("a plan file treats subnormal values as the plan did, and as its loader says", "[cpu]") {
  if (!can_flush()) return;
  const LiveDaemon daemon;
  const Tensor y = input("x", {1}, DType::kF32) * 1e-20;
  const auto run = [](const client::PreparedPlan& plan) {
    auto instance = plan.instantiate();
    REQUIRE(instance.ok());
    const float x = 1e-20F;
    REQUIRE(instance->bind_input("x", &x, sizeof x).ok());
    REQUIRE(instance->execute().ok());
    return *static_cast<const float*>(instance->output("y")->data);
  };
  for (const Subnormals mode : kAllModes) {
    INFO(subnormals_name(mode));
    const auto plan = client::prepare({{"y", y}}, with(daemon, mode));
    REQUIRE(plan.ok());
    const auto bytes = plan->export_bytes();
    REQUIRE(bytes.ok());
    const auto loaded = client::load_plan_bytes(*bytes);
    REQUIRE(loaded.ok());
    CHECK(run(*loaded) == run(*plan));
    const auto kept = client::load_plan_bytes(*bytes, {.subnormals = Subnormals::kKeep});
    REQUIRE(kept.ok());
    CHECK(run(*kept) == 1e-20F * 1e-20F);
    const auto flushed = client::load_plan_bytes(*bytes, {.subnormals = Subnormals::kResults});
    REQUIRE(flushed.ok());
    CHECK(run(*flushed) == 0.0F);
  }
}
