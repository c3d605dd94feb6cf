// The same plan with other parameters, or for other threads: nothing is compiled, and each is what it was.
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/integration/live_daemon.h"

namespace hearth::integration {
namespace {

constexpr std::int64_t kLength = 64;

std::vector<float> filled(float value, std::int64_t count = kLength * kLength) {
  return std::vector<float>(static_cast<std::size_t>(count), value);
}

client::PreparedPlan product(const client::PrepareConfig& config, const std::vector<float>& weights,
                             std::int64_t length = kLength) {
  const client::Tensor x = client::input("x", {2, length}, DType::kF32);
  const client::Tensor w = client::parameter("w", {length, length}, DType::kF32, client::bytes_of(weights));
  auto plan = client::prepare({{"y", client::matmul(x, w)}}, config);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return *plan;
}

// The first element of y, where every element of x is 1.
float first_output(const client::PreparedPlan& plan, std::int64_t length = kLength) {
  auto run = plan.instantiate();
  REQUIRE(run.ok());
  const std::vector<float> ones = filled(1, 2 * length);
  REQUIRE(run->bind_input("x", ones.data(), ones.size() * sizeof(float)).ok());
  REQUIRE(run->execute().ok());
  return *static_cast<const float*>(run->output("y")->data);
}

}  // namespace

TEST_CASE("a plan with other parameters computes with them, and the first one with its own") {
  const LiveDaemon daemon;
  const std::vector<float> one = filled(1), two = filled(2);
  const client::PreparedPlan plan = product(daemon.config(), one);
  const auto other = plan.with_parameters({{"w", client::bytes_of(two)}});
  REQUIRE(other.ok());
  CHECK(first_output(plan) == kLength);
  CHECK(first_output(*other) == 2 * kLength);
  CHECK(other->stats().plan_key == plan.stats().plan_key);
  const auto again = other->with_parameters({{"w", client::bytes_of(one)}});
  REQUIRE(again.ok());
  CHECK(first_output(*again) == kLength);
  const auto same = plan.with_parameters({});
  REQUIRE(same.ok());
  CHECK(first_output(*same) == kLength);
}

TEST_CASE("parameters that a plan has not are refused") {
  const LiveDaemon daemon;
  const std::vector<float> weights = filled(1), few = filled(1, 5);
  const client::PreparedPlan plan = product(daemon.config(), weights);
  const auto unknown = plan.with_parameters({{"v", client::bytes_of(weights)}});
  CHECK(unknown.status().message() == "the plan has no parameter 'v'");
  const auto small = plan.with_parameters({{"w", client::bytes_of(few)}});
  CHECK(small.status().message() == "parameter 'w' has 20 bytes; expected 16384");
}

TEST_CASE("weights that are bound again are shared with who has the same") {
  const LiveDaemon daemon;
  constexpr std::int64_t kLarge = 2304;  // enough to be hashed
  const std::vector<float> first = filled(1, kLarge * kLarge), second = filled(3, kLarge * kLarge);
  const client::PreparedPlan plan = product(daemon.config(), first, kLarge);
  CHECK_FALSE(plan.stats().weights_found);
  const auto other = plan.with_parameters({{"w", client::bytes_of(second)}});
  REQUIRE(other.ok());
  CHECK_FALSE(other->stats().weights_found);
  CHECK(other->stats().shared_weight_bytes == plan.stats().shared_weight_bytes);
  const auto back = other->with_parameters({{"w", client::bytes_of(first)}});
  REQUIRE(back.ok());
  CHECK(back->stats().weights_found);
  CHECK(first_output(*back, kLarge) == kLarge);
  CHECK(first_output(*other, kLarge) == 3 * kLarge);
}

TEST_CASE("a plan for other threads, which outlives the plan and the daemon") {
  LiveDaemon daemon;
  const std::vector<float> weights = filled(1);
  client::PrepareConfig config = daemon.config();
  config.threads = 1;
  auto plan = std::make_unique<client::PreparedPlan>(product(config, weights));
  const auto other = plan->with_threads(2);
  REQUIRE(other.ok());
  CHECK((plan->threads() == 1 && other->threads() == 2));
  CHECK(plan->with_threads(-1).status().code() == absl::StatusCode::kInvalidArgument);
  plan = nullptr;
  daemon.place().stop_daemon();
  CHECK(first_output(*other) == kLength);
  const std::vector<float> two = filled(2);
  const auto changed = other->with_parameters({{"w", client::bytes_of(two)}});
  INFO(changed.status().message());
  REQUIRE(changed.ok());
  CHECK(first_output(*changed) == 2 * kLength);
}

}  // namespace hearth::integration
