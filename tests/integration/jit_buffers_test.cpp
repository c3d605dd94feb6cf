// What a wrapped model's buffers hold: inputs and outputs by their element type, intermediates, and the times of a
// profiled replay.
#include <catch2/catch.hpp>
#include <cmath>

#include "client/jit/prepared_state.h"
#include "hearth/array.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/integration/jit_checks.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::integration;

namespace {

HEARTH_JIT_WRAPPER(TwoOutputsJit, Line, (x)) { return NamedTensors{{"twice", x * 2.0}, {"line", line(model, x)}}; }
// Counts in i32, scales in f16, f32 at the boundary.
HEARTH_JIT_WRAPPER(HalfJit, Line, (counts, scales)) { return cast(cast(counts, DType::kF16) * scales, DType::kF32); }
// The sums are an intermediate, which every row of the result needs.
HEARTH_JIT_WRAPPER(StepsJit, Line, (x), (n, 1, 64)) {
  const Tensor rows = shrink(x, {0, 0}, {n, 32});
  const Tensor sums = reduce_sum(rows * rows, {0});
  return matmul(rows, unsqueeze(sums, {1}));
}

}  // namespace

TEST_CASE("inputs are written and the output is read by their element type, which is checked") {
  const LiveDaemon daemon;
  auto jit = HalfJit(Line()).prepare_with_config(InputSpec::i32({3}), InputSpec({3}, DType::kF16), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  CHECK(jit->counts_mut()->dtype == DType::kI32);
  REQUIRE(jit->counts_mut()->copy_from({1, -2, 3}).ok());
  REQUIRE(jit->scales_mut()->round_from(std::vector<float>{0.5F, 0.25F, 0.1F}).ok());
  REQUIRE(jit->execute().ok());
  // 0.1 is 1638 * 2^-14 in f16; three times that is 4914 * 2^-14, which f16 rounds to 2457 * 2^-13: 11 bits, 1228.5 to
  // even.
  CHECK(values(jit->output()) == std::vector<float>{0.5F, -0.5F, 1228 * std::ldexp(1.0F, -12)});
  REQUIRE(jit->scales_mut()->fill(Float16(2)).ok());
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{2, -4, 6});
  const auto wrong = jit->counts_mut()->copy_from(std::vector<float>(3));
  CHECK(std::string(wrong.message()) == "buffer 'counts' has elements of i32, not f32");
  check_kind(copy_into(jit->scales_mut(), std::vector<float>(3)), JitErrorKind::kRuntime,
             "buffer 'scales' has elements of f16, not f32");
  check_kind(copy_into(jit->counts_mut(), std::vector<std::int32_t>(4)), JitErrorKind::kRuntime,
             "room for 3 elements of i32; 4 were given");
  CHECK(std::string(jit->output()->as<std::int32_t>().status().message()) ==
        "buffer 'out' has elements of f32, not i32");
  // Nothing was written by those that were refused.
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{2, -4, 6});
}

TEST_CASE("tools see buffers, outputs, inputs and kernels, and what the buffers hold") {
  const LiveDaemon daemon;
  auto jit = TwoOutputsJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  REQUIRE(jit.ok());
  const auto ids = jit->input_buffer_ids();
  REQUIRE(ids->size() == 1);
  CHECK((*jit->buffers())[ids->front()].name == "x");
  CHECK((*jit->buffers())[ids->front()].kind == BufferKind::kInput);
  CHECK(!jit->prepared_kernels()->empty());
  fill(jit->x_mut(), {1, 2});
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{2, 4});
  CHECK(values(jit->output("line")) == std::vector<float>{3, 7});
  const auto outputs = jit->output_buffers();
  REQUIRE((outputs.ok() && outputs->size() == 2));
  CHECK(((*outputs)[0].name == "twice" && (*outputs)[1].name == "line"));
  CHECK(values((*outputs)[0]) == std::vector<float>{2, 4});
  CHECK(values((*outputs)[1]) == std::vector<float>{3, 7});
  CHECK(values(jit->buffer(ids->front())) == std::vector<float>{1, 2});
  const auto buffers = jit->buffers();
  for (const BufferInfo& info : *buffers) {
    INFO(info.id << " " << to_string(info.kind) << " " << info.name);
    if (info.kind == BufferKind::kParameter) CHECK(values(jit->buffer(info.id)) == std::vector<float>{2, 3});
    if (info.kind == BufferKind::kOutput) CHECK(!info.kernel.empty());
  }
  check_kind(jit->buffer(1000), JitErrorKind::kRuntime, "no buffer 1000");
}

TEST_CASE("an intermediate is read after a replay, at the variables it had") {
  const LiveDaemon daemon;
  PrepareConfig config = daemon.config();
  config.keep_intermediates = true;
  auto jit = StepsJit(Line()).prepare_with_config(InputSpec::f32({64, 32}), config);
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  std::vector<std::uint32_t> intermediates;
  const auto buffers = jit->buffers();
  for (const BufferInfo& info : *buffers) {
    if (info.kind == BufferKind::kIntermediate) intermediates.push_back(info.id);
  }
  REQUIRE(intermediates.size() == 1);
  check_kind(jit->buffer(intermediates[0]), JitErrorKind::kRuntime, "nothing was executed yet");
  REQUIRE(jit->x_mut()->fill(2.0F).ok());
  REQUIRE(jit->execute_with_vars({{"n", 5}}).ok());
  CHECK(values(jit->buffer(intermediates[0])) == std::vector<float>(32, 5 * 4));
  const Array kept = copy_of(*jit->buffer(intermediates[0]));
  REQUIRE(jit->execute_with_vars({{"n", 7}}).ok());
  CHECK(values(jit->buffer(intermediates[0])) == std::vector<float>(32, 7 * 4));
  CHECK((*kept.elements<float>())[31] == 20);
  CHECK(values(jit->output()) == std::vector<float>(7, 32 * 2 * 28));
}

TEST_CASE("a profiled replay gives the time of every launch, in order, and the same results") {
  const LiveDaemon daemon;
  auto jit = StepsJit(Line()).prepare_with_config(InputSpec::f32({64, 32}), daemon.config());
  REQUIRE(jit.ok());
  REQUIRE(jit->x_mut()->fill(1.0F).ok());
  const auto check = [&](const absl::StatusOr<Profile>& profile, std::int64_t n) {
    INFO(profile.status().message());
    REQUIRE(profile.ok());
    const PreparedPlan plan = *jit->plan();
    const auto& launches = loaded_plan(plan).plan().launches;
    const auto kernels = *jit->prepared_kernels();
    REQUIRE(profile->launches.size() == launches.size());
    std::uint64_t sum_ns = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      CHECK(profile->launches[i].kernel == kernels[launches[i].kernel].symbol);
      CHECK(kernels[launches[i].kernel].num_ops == 64 * 64);  // at most 64 rows of 32, a product and a sum each
      CHECK(profile->launches[i].num_ops == static_cast<std::uint64_t>(n) * 64);
      CHECK(profile->launches[i].time_ns > 0);
      sum_ns += profile->launches[i].time_ns;
    }
    CHECK(profile->launches.size() == 2);
    CHECK(profile->launches[0].kernel != profile->launches[1].kernel);
    CHECK(profile->total_ns >= sum_ns);
    CHECK(values(jit->output()) == std::vector<float>(static_cast<std::size_t>(n), static_cast<float>(32 * n)));
  };
  check(jit->execute_with_vars_profiled({{"n", 3}}), 3);
  check(jit->execute_profiled(), 64);
}
