// Caches that are carried from run to run: prepared for it (PrepareConfig::carried) they are made in their own memory,
// and hold what they hold when each step is given the output of the one before.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "client/jit/prepared_state.h"
#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/integration/live_daemon.h"

namespace hearth::integration {
namespace {

using Catch::Matchers::Contains;
using client::Carried;
using client::Dim;
using client::Instance;
using client::NamedTensors;
using client::PrepareConfig;
using client::PreparedPlan;
using client::Tensor;

constexpr std::int64_t kRoom = 16;

const Dim& past() {
  static const Dim n = Dim::variable("n", 0, kRoom - 1);
  return n;
}

// One head's step of a decoder over keys [heads, n, 8] and values [heads, 8, n], which lie along other axes.
NamedTensors attention_step() {
  const Tensor x = client::input("x", {2, 1, 8}, DType::kF32);
  const Tensor keys = client::cat({client::input("keys", {2, past(), 8}, DType::kF32), x * 0.5F}, 1);
  const Tensor column = client::transpose(client::tanh(x));
  const Tensor values = client::cat({client::input("values", {2, 8, past()}, DType::kF32), column}, 2);
  const Tensor weights = client::softmax(client::matmul(x, client::transpose(keys)));
  return {{"y", client::matmul(weights, client::transpose(values))}, {"new_keys", keys}, {"new_values", values}};
}

// Bytes in front and behind: a queue that grows at its beginning.
NamedTensors stack_step() {
  const Tensor x = client::input("x", {3, 1}, DType::kI8);
  const Tensor grown = client::cat({x, client::input("keys", {3, past()}, DType::kI8)}, 1);
  return {{"y", client::reduce_sum(client::cast(grown, DType::kI32), {1})}, {"new_keys", grown}};
}

// A window that moves on: as long as before, all of it elsewhere.
NamedTensors window_step() {
  const Tensor x = client::input("x", {2, 1, 4}, DType::kF32);
  const Tensor window = client::input("keys", {2, 6, 4}, DType::kF32);
  const Tensor moved = client::cat({client::shrink(window, {0, 1, 0}, {2, 6, 4}), x}, 1);
  return {{"y", client::reduce_sum(moved, {1})}, {"new_keys", moved}};
}

// What it was before is read as well, by a sum that begins after the cache has grown.
NamedTensors before_and_after() {
  const Tensor x = client::input("x", {2, 1, 8}, DType::kF32);
  const Tensor before = client::input("keys", {2, past(), 8}, DType::kF32);
  const Tensor grown = client::cat({before, x}, 1);
  const Tensor change = client::reduce_sum(grown * grown, {1}) - client::reduce_sum(before * before, {1});
  return {{"y", change}, {"new_keys", grown}, {"all", before * 2.0F}};
}

// The same value under two names, of which one is carried.
NamedTensors named_twice() {
  const Tensor x = client::input("x", {2, 1, 8}, DType::kF32);
  const Tensor grown = client::cat({client::input("keys", {2, past(), 8}, DType::kF32), x}, 1);
  return {{"y", grown}, {"new_keys", grown}};
}

std::vector<Carried> pairs_of(const NamedTensors& outputs) {
  std::vector<Carried> pairs;
  for (const auto& [name, tensor] : outputs) {
    if (name.rfind("new_", 0) == 0) pairs.push_back({name, name.substr(4)});
  }
  return pairs;
}

std::size_t num_in_place(const PreparedPlan& plan) {
  std::size_t count = 0;
  for (const runtime::PlanBuffer& buffer : client::loaded_plan(plan).plan().buffers) count += buffer.in_place;
  return count;
}

std::string read(const Instance& instance, const std::string& output) {
  const auto view = instance.output(output);
  INFO(view.status());
  REQUIRE(view.ok());
  return {static_cast<const char*>(view->data), view->size_bytes};
}

void fill_random(Instance& instance, std::mt19937& random) {
  const auto x = instance.input("x");
  REQUIRE(x.ok());
  for (std::size_t i = 0; i < x->size_bytes / dtype_bytes(x->dtype); ++i) {
    if (x->dtype == DType::kF32) {
      static_cast<float*>(x->data)[i] = std::uniform_real_distribution<float>(-2, 2)(random);
    } else {
      static_cast<std::int8_t*>(x->data)[i] = static_cast<std::int8_t>(random());
    }
  }
}

struct Row {
  const char* what;
  NamedTensors (*step)();
  std::size_t in_place;  // on the CPU
};

const Row kRows[] = {
    {"keys and values grow behind what they have, along different axes", attention_step, 2},
    {"a queue grows at its beginning", stack_step, 0},
    {"a window moves on", window_step, 0},
    {"what was there before is read too", before_and_after, 0},
    {"the output has two names", named_twice, 0},
};

}  // namespace

TEST_CASE("a carried cache holds what copies of it by hand hold, at every length, in its own memory") {
  const LiveDaemon daemon;
  for (const Row& row : kRows) {
    for (const int threads : {1, 2}) {
      INFO(row.what << ", " << threads << " threads");
      const NamedTensors outputs = row.step();
      PrepareConfig config = daemon.config();
      config.threads = threads;
      const auto copied_plan = client::prepare(outputs, config);
      config.carried = pairs_of(outputs);
      const auto carried_plan = client::prepare(outputs, config);
      INFO(copied_plan.status() << carried_plan.status());
      REQUIRE((copied_plan.ok() && carried_plan.ok()));
      if (carried_plan->device() == "cpu") CHECK(num_in_place(*carried_plan) == row.in_place);
      auto copied = copied_plan->instantiate(), carried = carried_plan->instantiate();
      REQUIRE((copied.ok() && carried.ok()));
      for (std::uint32_t pass = 0; pass < 2; ++pass) {
        std::mt19937 random(pass);
        std::int64_t first = 0;
        if (pass == 1) {  // begins in the middle, with what the caller has
          first = 5;
          for (const Carried& pair : config.carried) {
            for (Instance* instance : {&*copied, &*carried}) (void)instance->set_var("n", first);
            const auto own = copied->input(pair.input);
            REQUIRE(own.ok());
            std::memset(own->data, 0x3c, own->size_bytes);
            REQUIRE(carried->set_carried(pair.input, own->data, own->size_bytes).ok());
          }
        }
        for (std::int64_t n = first; n < kRoom; ++n) {
          INFO("n = " << n);
          for (Instance* instance : {&*copied, &*carried}) (void)instance->set_var("n", n);
          std::mt19937 same = random;
          fill_random(*copied, random);
          fill_random(*carried, same);
          REQUIRE(copied->execute().ok());
          REQUIRE(carried->execute().ok());
          for (const auto& [name, tensor] : outputs) {
            INFO(name);
            CHECK(read(*carried, name) == read(*copied, name));
          }
          for (const Carried& pair : config.carried) {
            const std::string made = read(*copied, pair.output);
            (void)copied->set_var("n", std::min(n + 1, kRoom - 1));
            if (const auto own = copied->input(pair.input); own.ok())
              std::memcpy(own->data, made.data(), std::min(made.size(), own->size_bytes));
            (void)copied->set_var("n", n);
          }
        }
        // Another stream, from nothing.
        for (const Carried& pair : config.carried) {
          for (Instance* instance : {&*copied, &*carried}) (void)instance->set_var("n", 0);
          REQUIRE(carried->set_carried(pair.input).ok());
          const auto own = copied->input(pair.input);
          REQUIRE(own.ok());
          std::memset(own->data, 0, own->size_bytes);
        }
      }
    }
  }
}

TEST_CASE("a carried cache of a prepared plan: two instances, steps out of order, what cannot be carried") {
  const LiveDaemon daemon;
  PrepareConfig config = daemon.config();
  config.threads = 1;
  const NamedTensors outputs = attention_step();
  config.carried = pairs_of(outputs);
  const auto plan = client::prepare(outputs, config);
  REQUIRE(plan.ok());
  auto one = plan->instantiate(), other = plan->instantiate();
  REQUIRE((one.ok() && other.ok()));
  std::mt19937 random(7);
  std::vector<std::string> steps;
  for (std::int64_t n = 0; n < 3; ++n) {  // of one; the other stays where it was
    REQUIRE(one->set_var("n", n).ok());
    fill_random(*one, random);
    REQUIRE(one->execute().ok());
    steps.push_back(read(*one, "new_keys"));
  }
  REQUIRE(other->set_var("n", 0).ok());
  fill_random(*other, random);
  REQUIRE(other->execute().ok());
  REQUIRE(one->set_var("n", 3).ok());
  fill_random(*one, random);
  REQUIRE(one->execute().ok());
  CHECK(read(*one, "new_keys").compare(0, 64, steps[2], 0, 64) == 0);

  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  CHECK_THAT(message(one->execute()), Contains("carried input 'keys' is [2, 3, 8]"));
  CHECK_THAT(message(one->input("keys").status()), Contains("set_carried"));
  CHECK(one->carry("new_keys", "keys").ok());  // as the plan has it
  CHECK_THAT(message(one->carry("new_keys", "values")), Contains("output 'new_keys' is carried already"));
  CHECK_THAT(message(one->set_carried("keys", steps[0].data(), 12)), Contains("is given 12 bytes; it needs 192"));

  const auto refused = [&](std::vector<Carried> pairs) {
    config.carried = std::move(pairs);
    return message(client::prepare(outputs, config).status());
  };
  CHECK_THAT(
      refused({{"new_key", "keys"}}),
      Contains("'new_key' carried to input 'keys': there is no such output; there are: 'new_keys', 'new_values', 'y'"));
  CHECK_THAT(refused({{"new_keys", "key"}}), Contains("nothing reads such an input; there are: "));
  CHECK_THAT(refused({{"new_keys", "keys"}, {"new_keys", "values"}}), Contains("one of them is carried twice"));
  CHECK_THAT(refused({{"new_keys", "keys"}, {"new_values", "keys"}}), Contains("one of them is carried twice"));
  CHECK_THAT(refused({{"y", "values"}}),
             Contains("output 'y' is f32 [2, 1, 8] and cannot be carried to input 'values', which is f32 [2, 8, "));
}

}  // namespace hearth::integration
