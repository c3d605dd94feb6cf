// Launches that are run only where a bool in memory says so, and conditions that cannot be.
#include <catch2/catch.hpp>

#include "proto/versions.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/runtime/plan_corruption.h"

using namespace hearth::runtime;
using hearth::testing::check_refused;
using hearth::testing::compile_kernel;
using hearth::testing::PlanCorruption;
using hearth::testing::push_const;
namespace v1 = hearth::v1;

namespace {

constexpr int kElements = 256;

struct ConditionalFill {
  v1::Plan plan;
  std::vector<ArtifactSource> artifacts;
};

// "which" is stored as `made`, then "out" is filled by one launch where that is true and by another where it is false,
// and "same" only where "which" itself is true.
ConditionalFill conditional_plan(int threads) {
  ConditionalFill made;
  const auto filled = [](const std::string& symbol, int value) {
    return compile_kernel(
        "void " + symbol + "(void* const* b, const int64_t* v, int64_t i0, int64_t i1) {\n" +
        "  int32_t* o = b[0]; (void)v; for (int64_t i = i0; i < i1; ++i) o[i] = " + std::to_string(value) + "; }\n");
  };
  const ArtifactSource copy = compile_kernel(
      "void copy_bool(void* const* b, const int64_t* v, int64_t i0, int64_t i1) {\n"
      "  (void)v; if (i0 < i1) *(uint8_t*)b[0] = *(uint8_t*)b[1]; }\n");
  made.artifacts = {copy, filled("fill_one", 1), filled("fill_two", 2)};
  v1::Plan& plan = made.plan;
  plan.set_version(hearth::kConditionalPlanVersion);
  *plan.mutable_target() = cpu_target(threads);
  const auto buffer = [&](v1::PlanBuffer::Kind kind, const std::string& name, v1::DType dtype, int length) {
    v1::PlanBuffer& added = *plan.add_buffers();
    added.set_kind(kind), added.set_name(name), added.set_dtype(dtype);
    added.set_max_bytes(static_cast<std::uint64_t>(dtype == v1::BOOL ? length : 4 * length));
    push_const(added.add_shape(), length);
  };
  buffer(v1::PlanBuffer::INPUT, "which", v1::BOOL, 1);
  buffer(v1::PlanBuffer::ARENA, "", v1::BOOL, 1);
  buffer(v1::PlanBuffer::OUTPUT, "out", v1::I32, kElements);
  buffer(v1::PlanBuffer::OUTPUT, "same", v1::I32, kElements);
  plan.set_arena_bytes(64);
  const std::string symbols[] = {"copy_bool", "fill_one", "fill_two"};
  for (std::size_t i = 0; i < 3; ++i) {
    v1::PlanKernel& kernel = *plan.add_kernels();
    kernel.set_symbol(symbols[i]), kernel.set_artifact(made.artifacts[i].digest), kernel.set_num_ops(1);
  }
  const auto launch = [&](std::uint32_t kernel, std::initializer_list<std::uint32_t> buffers,
                          int units) -> v1::Launch& {
    v1::Launch& added = *plan.add_launches();
    added.set_kernel(kernel), added.set_min_units_per_thread(16);
    added.mutable_buffers()->Add(buffers.begin(), buffers.end());
    push_const(added.mutable_grid(), units);
    return added;
  };
  const auto run_if = [](v1::Launch& of, std::uint32_t bool_buffer, bool value) {
    v1::LaunchCondition& condition = *of.add_run_if();
    condition.set_buffer(bool_buffer), condition.set_value(value);
  };
  launch(0, {1, 0}, 1);
  run_if(launch(1, {2}, kElements), 1, true);
  run_if(launch(2, {2}, kElements), 1, false);
  v1::Launch& both = launch(2, {3}, kElements);
  run_if(both, 0, true), run_if(both, 1, true);
  return made;
}

absl::StatusOr<std::shared_ptr<const LoadedPlan>> load(const ConditionalFill& made, std::string& bytes) {
  bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.device = *find_device("cpu");
  request.plan = bytes;
  request.artifacts = made.artifacts;
  return LoadedPlan::create(request);
}

}  // namespace

TEST_CASE("a launch is run where its bools have their values, and left out where not", "[host]") {
  for (const int threads : {1, 3}) {
    std::string bytes;
    const auto plan = load(conditional_plan(threads), bytes);
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    auto instance = create_instance(*plan, {.threads = threads});
    REQUIRE(instance.ok());
    std::vector<std::int32_t> same(kElements);
    REQUIRE(instance->bind_output("same", same.data(), 4 * kElements).ok());
    for (const std::uint8_t which : {1, 0, 1, 0}) {
      *static_cast<std::uint8_t*>(instance->input("which")->data) = which;
      std::ranges::fill(same, 7);
      for (const bool is_profiled : {false, true}) {
        std::vector<std::uint64_t> runs;
        if (is_profiled) {
          const auto profile = instance->execute_profiled();
          REQUIRE(profile.ok());
          for (const auto& launch : profile->launches) runs.push_back(launch.runs);
        } else {
          REQUIRE(instance->execute().ok());
        }
        const auto* out = static_cast<const std::int32_t*>(instance->output("out")->data);
        CHECK(std::all_of(out, out + kElements, [&](std::int32_t value) { return value == (which ? 1 : 2); }));
        CHECK(same == std::vector<std::int32_t>(kElements, which ? 2 : 7));
        if (is_profiled)
          CHECK(runs == (which ? std::vector<std::uint64_t>{1, 1, 0, 1} : std::vector<std::uint64_t>{1, 0, 1, 0}));
      }
    }
  }
}

TEST_CASE("conditions of launches that cannot be are refused and named", "[host]") {
  using Plan = v1::Plan;
  const auto condition = [](Plan& p) { return p.mutable_launches(1)->mutable_run_if(0); };
  const PlanCorruption table[] = {
      {"launch 1: a condition in a plan of version 1 for device 'cpu'", [](Plan& p) { p.set_version(1); }},
      {"launch 1: a condition in a plan of version 3 for device 'cpu'",
       [](Plan& p) {
         p.mutable_target()->mutable_gpu()->set_workgroup_size(64);
         for (auto& kernel : *p.mutable_kernels()) kernel.set_workgroup_size(64);
       }},
      {"launch 1: the condition's buffer 4 does not exist", [&](Plan& p) { condition(p)->set_buffer(4); }},
      {"launch 1: the condition's buffer 2 is no single bool", [&](Plan& p) { condition(p)->set_buffer(2); }},
      {"launch 1: the condition's buffer 0 is no single bool",
       [&](Plan& p) {
         p.mutable_buffers(0)->clear_shape(), p.mutable_buffers(0)->set_max_bytes(3);
         push_const(p.mutable_buffers(0)->add_shape(), 3);
         condition(p)->set_buffer(0);
       }},
      {"launch 1: more than",
       [&](Plan& p) {
         for (int i = 0; i <= 1 << 17; ++i) p.mutable_launches(1)->add_run_if()->set_buffer(1);
       }},
      {"launch 1: a condition of a once launch, or within a loop or a region",
       [](Plan& p) {
         v1::ParallelRegion& region = *p.add_regions();
         region.set_first_launch(1), region.set_num_launches(2), region.set_min_units_per_thread(1);
       }},
      {"launch 1: a condition of a once launch, or within a loop or a region",
       [](Plan& p) {
         v1::PlanLoop& loop = *p.add_loops();
         loop.set_first_launch(0), loop.set_num_launches(2), loop.set_max_count(2);
         push_const(loop.mutable_count(), 2);
       }},
  };
  check_refused(conditional_plan(1).plan, table);
}
