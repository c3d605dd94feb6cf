// Loops of a plan: what steps see, and plans that say what cannot be.
#include <catch2/catch.hpp>
#include <cstring>

#include "proto/versions.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/null/null_device.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/allocation_counter.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/runtime/plan_corruption.h"

using namespace hearth::runtime;
using hearth::testing::AllocationCounter;
using hearth::testing::check_refused;
using hearth::testing::compile_map;
using hearth::testing::PlanCorruption;
using hearth::testing::push_const;
using hearth::testing::push_var;
namespace v1 = hearth::v1;

namespace {

constexpr std::int64_t kWidth = 20;
constexpr std::uint32_t kSteps = 0, kStart = 1, kLast = 2, kAll = 3, kOther = 4, kX = 5, kNext = 6, kBefore = 7,
                        kDoubled = 8;

struct SumsPlan {
  v1::Plan plan;
  std::vector<ArtifactSource> artifacts;
};

// Over t in [1, 9] steps: last = start + x[0] + ... + x[t - 1], and all[i] is twice the sum after step i.
SumsPlan sums_plan() {
  const ArtifactSource add = compile_map("add_step", {"o", "s", "x"}, "o[i] = s[i] + x[i];"),
                       twice = compile_map("twice_step", {"o", "s"}, "o[i] = 2 * s[i];");
  SumsPlan made;
  made.artifacts = {add, twice};
  v1::Plan& plan = made.plan;
  plan.set_version(hearth::kPlanVersion);
  v1::Variable& t = *plan.add_vars();
  t.set_name("t"), t.set_min(1), t.set_max(9);
  const auto add_buffer = [&](v1::PlanBuffer::Kind kind, const char* name, bool of_all_steps) -> v1::PlanBuffer& {
    v1::PlanBuffer& buffer = *plan.add_buffers();
    buffer.set_kind(kind), buffer.set_name(name), buffer.set_dtype(v1::F32);
    buffer.set_max_bytes(static_cast<std::uint64_t>(kWidth * 4 * (of_all_steps ? 9 : 1)));
    if (of_all_steps) push_var(buffer.add_shape(), 0);
    push_const(buffer.add_shape(), kWidth);
    return buffer;
  };
  add_buffer(v1::PlanBuffer::INPUT, "x", true);
  add_buffer(v1::PlanBuffer::INPUT, "start", false);
  add_buffer(v1::PlanBuffer::OUTPUT, "last", false);
  add_buffer(v1::PlanBuffer::OUTPUT, "all", true);
  add_buffer(v1::PlanBuffer::ARENA, "", false);
  const auto add_view = [&](v1::LoopView::Kind kind, std::uint32_t buffer, std::uint32_t other) {
    v1::LoopView& view = *add_buffer(v1::PlanBuffer::VIEW, "", false).mutable_view();
    view.set_kind(kind), view.set_buffer(buffer), view.set_other(other);
  };
  add_view(v1::LoopView::SLICE, kSteps, 0);
  add_view(v1::LoopView::CARRIED, kLast, kOther);
  add_view(v1::LoopView::PREVIOUS, kStart, kNext);
  add_view(v1::LoopView::SLICE, kAll, 0);
  plan.set_arena_bytes(128);
  for (const auto& [symbol, artifact] : {std::pair("add_step", add), std::pair("twice_step", twice)}) {
    v1::PlanKernel& kernel = *plan.add_kernels();
    kernel.set_symbol(symbol), kernel.set_artifact(artifact.digest), kernel.set_num_ops(kWidth);
  }
  const auto add_launch = [&](std::uint32_t kernel, std::initializer_list<std::uint32_t> slots) {
    v1::Launch& launch = *plan.add_launches();
    launch.set_kernel(kernel), launch.set_min_units_per_thread(4);
    for (const std::uint32_t slot : slots) launch.add_buffers(slot);
    push_const(launch.mutable_grid(), kWidth);
  };
  add_launch(0, {kNext, kBefore, kX});
  add_launch(1, {kDoubled, kNext});
  v1::PlanLoop& loop = *plan.add_loops();
  loop.set_num_launches(2), loop.set_max_count(9);
  push_var(loop.mutable_count(), 0);
  hearth::testing::set_target(plan, 4);
  return made;
}

std::shared_ptr<const LoadedPlan> load_loop(const SumsPlan& made) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan = LoadedPlan::create(request);
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  return *plan;
}

void fill(Instance& instance) {
  auto* x = static_cast<float*>(instance.input("x")->data);
  auto* start = static_cast<float*>(instance.input("start")->data);
  for (std::int64_t i = 0; i < 9 * kWidth; ++i) x[i] = static_cast<float>(i);
  for (std::int64_t i = 0; i < kWidth; ++i) start[i] = 1000;
}

// Whether the outputs are right for `t` steps from `start`.
bool right_loop(const Instance& instance, std::int64_t t, float start = 1000, bool reverse = false) {
  const auto* last = static_cast<const float*>(instance.output("last")->data);
  const auto* all = static_cast<const float*>(instance.output("all")->data);
  for (std::int64_t i = 0; i < kWidth; ++i) {
    float sum = start;
    for (std::int64_t step = 0; step < t; ++step) {
      const std::int64_t at = reverse ? t - 1 - step : step;
      sum += static_cast<float>(at * kWidth + i);
      if (all[at * kWidth + i] != 2 * sum) return false;
    }
    if (last[i] != sum) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the steps of a loop see their slices and what the step before made") {
  for (const bool reverse : {false, true}) {
    SumsPlan made = sums_plan();
    for (const std::uint32_t slice : {kX, kDoubled})
      made.plan.mutable_buffers(static_cast<int>(slice))->mutable_view()->set_reverse(reverse);
    const auto plan = load_loop(made);
    for (const int threads : {1, 3}) {
      absl::StatusOr<Instance> instance = create_instance(plan, {.threads = threads});
      REQUIRE(instance.ok());
      fill(*instance);
      for (const std::int64_t t : {9, 1, 2, 8}) {
        CAPTURE(reverse, threads, t);
        REQUIRE(instance->set_var("t", t).ok());
        REQUIRE(instance->execute().ok());
        CHECK(right_loop(*instance, t, 1000, reverse));
      }
    }
  }
}

TEST_CASE("the null device records the steps of a loop one by one, each with the memory that it sees", "[host]") {
  SumsPlan made = sums_plan();
  made.plan.mutable_target()->set_device("null");
  for (auto& kernel : *made.plan.mutable_kernels()) kernel.clear_artifact();
  const absl::StatusOr<Plan> plan = parse_plan(made.plan.SerializeAsString());
  REQUIRE(plan.ok());
  std::vector<char> memory(1 << 16);
  Rows rows(*plan);
  for (std::uint32_t i = 0; i < plan->buffers.size(); ++i)
    rows.memory[i] = plan->buffers[i].view ? nullptr : memory.data() + 4096 * i;
  const NullExecutable executable(plan->kernels.size());
  for (const std::int64_t t : {4, 9, 1}) {
    REQUIRE(rows.set_values({t}).ok());
    rows.place();
    const NullProgram program(executable, rows);
    REQUIRE(program.commands().size() == 2 * 9);  // always, and those of steps beyond t have no units
    for (std::size_t i = 0; i < 18; ++i)
      CHECK(program.commands()[i].units == (i < static_cast<std::size_t>(2 * t) ? kWidth : 0));
    for (std::int64_t step = 0; step < t; ++step) {
      CAPTURE(t, step);
      const NullCommand& add = program.commands()[static_cast<std::size_t>(2 * step)];
      const char* const last = memory.data() + 4096 * ((t - 1 - step) % 2 == 0 ? kLast : kOther);
      CHECK(add.addresses[0] == last);
      CHECK(add.addresses[2] == memory.data() + 4096 * kSteps + step * kWidth * 4);
      const char* const before = memory.data() + 4096 * ((t - step) % 2 == 0 ? kLast : kOther);
      CHECK(add.addresses[1] == (step == 0 ? memory.data() + 4096 * kStart : before));
    }
  }
}

TEST_CASE("a loop allocates nothing and its profile counts every step", "[still]") {
  absl::StatusOr<Instance> instance = create_instance(load_loop(sums_plan()), {.threads = 1});
  REQUIRE(instance.ok());
  fill(*instance);
  REQUIRE(instance->execute().ok());
  const AllocationCounter counter;
  REQUIRE(instance->execute().ok());
  CHECK(counter.count() == 0);
  const absl::StatusOr<Profile> profile = instance->execute_profiled();
  REQUIRE(profile.ok());
  REQUIRE(profile->launches.size() == 2);
  CHECK(profile->launches[1].runs == 9);
  CHECK(profile->launches[1].num_ops == 9 * kWidth);
  CHECK(profile->by_kernel()[0].launches == 9);
  CHECK(right_loop(*instance, 9));
}

TEST_CASE("a loop's state is carried from one execute to the next, and bound memory is sliced") {
  absl::StatusOr<Instance> instance = create_instance(load_loop(sums_plan()), {.threads = 1});
  REQUIRE(instance.ok());
  fill(*instance);
  REQUIRE(instance->carry("last", "start").ok());
  const std::vector<float> start(kWidth, 5);
  REQUIRE(instance->set_carried("start", start.data(), kWidth * 4).ok());
  REQUIRE(instance->set_var("t", 2).ok());
  std::vector<float> x(2 * kWidth), all(2 * kWidth);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  REQUIRE(instance->bind_input("x", x.data(), x.size() * 4).ok());
  REQUIRE(instance->bind_output("all", all.data(), all.size() * 4).ok());
  for (int replay = 0; replay < 5; ++replay) {
    REQUIRE(instance->execute().ok());
    const auto* last = static_cast<const float*>(instance->output("last")->data);
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const float step = x[static_cast<std::size_t>(i)] + x[static_cast<std::size_t>(i + kWidth)];
      CHECK(last[i] == 5 + step * static_cast<float>(replay + 1));
      CHECK(all[static_cast<std::size_t>(i + kWidth)] == 2 * last[i]);
    }
  }
}

TEST_CASE("what a step sees is no buffer to read; what it sees it of is") {
  const auto plan = load_loop(sums_plan());
  CHECK(plan->buffers()[kNext].kind == BufferKind::kView);
  CHECK(plan->buffers()[kLast].kernel == "add_step");
  CHECK(plan->buffers()[kAll].kernel == "twice_step");
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1, .keep_intermediates = true});
  REQUIRE(instance.ok());
  fill(*instance);
  REQUIRE(instance->execute().ok());
  CHECK_THAT(std::string(instance->buffer(kNext).status().message()), Catch::Contains("read buffer 2"));
  CHECK(instance->buffer(kOther).ok());
}

TEST_CASE("every corruption of a plan's loops is refused and named") {
  const auto view = [](v1::Plan& p, std::uint32_t buffer) {
    return p.mutable_buffers(static_cast<int>(buffer))->mutable_view();
  };
  const auto loop = [](v1::Plan& p) { return p.mutable_loops(0); };
  const PlanCorruption table[] = {
      {"loop 0: launches [1, +2)", [&](v1::Plan& p) { loop(p)->set_first_launch(1); }},
      {"loop 0: launches [0, +0)", [&](v1::Plan& p) { loop(p)->set_num_launches(0); }},
      {"loop 0: launches [4294967295, +4294967295)",
       [&](v1::Plan& p) { loop(p)->set_first_launch(~0u), loop(p)->set_num_launches(~0u); }},
      {"loop 1: launches [1, +1)",
       [&](v1::Plan& p) {
         *p.add_loops() = p.loops(0), p.mutable_loops(1)->set_first_launch(1), p.mutable_loops(1)->set_num_launches(1);
       }},
      {"loop 0: count: ", [&](v1::Plan& p) { loop(p)->clear_count(); }},
      {"loop 0: the count may be less than 1", [](v1::Plan& p) { p.mutable_vars(0)->set_min(0); }},
      {"loop 0: launch 1 is a once launch", [](v1::Plan& p) { p.mutable_launches(1)->set_once(true); }},
      {"buffer 5: loop 1 does not exist", [&](v1::Plan& p) { view(p, kX)->set_loop(1); }},
      {"buffer 5: buffer 99 does not exist", [&](v1::Plan& p) { view(p, kX)->set_buffer(99); }},
      {"buffer 5: buffer 6 is a view itself", [&](v1::Plan& p) { view(p, kX)->set_buffer(kNext); }},
      {"buffer 5: buffer 1 has 80 bytes; 720 are seen", [&](v1::Plan& p) { view(p, kX)->set_buffer(kStart); }},
      {"buffer 5: view of kind 9", [&](v1::Plan& p) { view(p, kX)->set_kind(static_cast<v1::LoopView::Kind>(9)); }},
      {"buffer 6: both halves are buffer 2", [&](v1::Plan& p) { view(p, kNext)->set_other(kLast); }},
      {"buffer 6: buffer 99 does not exist", [&](v1::Plan& p) { view(p, kNext)->set_other(99); }},
      {"buffer 7: buffer 4 is no slice or carried value", [&](v1::Plan& p) { view(p, kBefore)->set_other(kOther); }},
      {"buffer 7: buffer 7 is no slice or carried value", [&](v1::Plan& p) { view(p, kBefore)->set_other(kBefore); }},
      {"launch 1: slot 0: buffer 8 is a view of loop 0, which the launch is no part of",
       [&](v1::Plan& p) { loop(p)->set_num_launches(1); }},
      {"launch 0: buffers 4 and 9 overlap",
       [&](v1::Plan& p) {
         *p.add_buffers() = p.buffers(kOther);
         p.mutable_launches(0)->set_buffers(2, 9);
       }},
  };
  check_refused(sums_plan().plan, table);
}

TEST_CASE("a loop that would see more than a buffer holds at these values is not run") {
  SumsPlan made = sums_plan();  // x is as long as one step for t < 9, but its bound allows 9 of them
  made.plan.mutable_buffers(kSteps)->mutable_shape(0)->Clear();
  push_const(made.plan.mutable_buffers(kSteps)->mutable_shape(0), 1);
  absl::StatusOr<Instance> instance = create_instance(load_loop(made), {.threads = 1});
  REQUIRE(instance.ok());
  const absl::Status ran = instance->execute();
  CHECK(ran.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(ran.message()), Catch::Contains("a loop of 9 steps sees 720 bytes of buffer 0"));
  REQUIRE(instance->set_var("t", 1).ok());
  CHECK(instance->execute().ok());
}

TEST_CASE("a carried value that would not fit at these values is not run, wherever a step would find it") {
  for (const std::uint32_t grows : {kNext, kBefore}) {
    SumsPlan made = sums_plan();  // one row by its bound, one element for each of t steps by its shape
    for (const std::uint32_t buffer : {kLast, kOther, kStart, kNext, kBefore}) {
      v1::PlanBuffer& carried = *made.plan.mutable_buffers(static_cast<int>(buffer));
      carried.mutable_shape(0)->Clear();
      buffer == grows ? push_const(carried.mutable_shape(0), 9) : push_var(carried.mutable_shape(0), 0);
    }
    for (v1::Launch& launch : *made.plan.mutable_launches()) {
      launch.clear_grid();
      push_const(launch.mutable_grid(), 1);
    }
    absl::StatusOr<Instance> instance = create_instance(load_loop(made), {.threads = 1});
    REQUIRE(instance.ok());
    CHECK(instance->execute().ok());  // t = 9
    REQUIRE(instance->set_var("t", 2).ok());
    const absl::Status ran = instance->execute();
    INFO("buffer " << grows);
    CHECK(ran.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(ran.message()), Catch::Contains("a loop of 2 steps sees 36 bytes"));
  }
}

TEST_CASE("a plan of very many loops is loaded in a moment") {
  SumsPlan made = sums_plan();
  v1::Plan& plan = made.plan;
  plan.mutable_launches()->DeleteSubrange(1, 1);
  plan.mutable_loops(0)->set_num_launches(1);
  for (std::uint32_t i = 1; i < 100'000; ++i) {
    *plan.add_launches() = plan.launches(0);
    plan.mutable_launches(static_cast<int>(i))->clear_buffers();
    *plan.add_loops() = plan.loops(0);
    plan.mutable_loops(static_cast<int>(i))->set_first_launch(i);
    for (const std::uint32_t view : {kNext, kBefore, kX}) {
      v1::PlanBuffer& copy = *plan.add_buffers() = plan.buffers(static_cast<int>(view));
      copy.mutable_view()->set_loop(i);
      if (view == kBefore) copy.mutable_view()->set_other(static_cast<std::uint32_t>(plan.buffers_size() - 2));
      plan.mutable_launches(static_cast<int>(i))->add_buffers(static_cast<std::uint32_t>(plan.buffers_size() - 1));
    }
  }
  CHECK(create_instance(load_loop(made), {.threads = 1}).ok());
}
