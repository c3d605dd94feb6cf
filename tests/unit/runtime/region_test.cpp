// Parallel regions of a plan: one fork for several launches, and regions that say what cannot be.
#include <catch2/catch.hpp>
#include <set>

#include "proto/versions.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/support/eventually.h"
#include "tests/unit/runtime/allocation_counter.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/runtime/plan_corruption.h"

using namespace hearth::runtime;
using hearth::testing::AllocationCounter;
using hearth::testing::check_refused;
using hearth::testing::compile_kernel;
using hearth::testing::PlanCorruption;
using hearth::testing::push_const;
using hearth::testing::push_var;
namespace v1 = hearth::v1;

namespace {

constexpr int kUnits = 64;
constexpr int kLaunches = 3;

struct ThreadsPlan {
  v1::Plan plan;
  std::vector<ArtifactSource> artifacts;
};

// Launch l writes to output "o<l>" which thread made each of n units; all launches are one region. The first unit, which
// is the caller's, sleeps: a thread that was asked gets to its units on a machine with one free core, too.
ThreadsPlan threads_plan() {
  ThreadsPlan made;
  const ArtifactSource note = compile_kernel(
      "#define _GNU_SOURCE\n#include <unistd.h>\n#include <sys/syscall.h>\n"
      "void note_thread(void* const* b, const int64_t* v, int64_t i0, int64_t i1) {\n"
      "  int32_t* o = b[0]; (void)v;\n"
      "  for (int64_t i = i0; i < i1; ++i) {\n"
      "    o[i] = (int32_t)syscall(SYS_gettid);\n"
      "    if (i == 0) usleep(500);\n"
      "  } }\n");
  made.artifacts = {note};
  v1::Plan& plan = made.plan;
  plan.set_version(hearth::kPlanVersion);
  *plan.mutable_target() = cpu_target(4);
  v1::Variable& n = *plan.add_vars();
  n.set_name("n"), n.set_min(0), n.set_max(kUnits);
  v1::PlanKernel& kernel = *plan.add_kernels();
  kernel.set_symbol("note_thread"), kernel.set_artifact(note.digest), kernel.set_num_ops(1);
  for (int l = 0; l < kLaunches; ++l) {
    v1::PlanBuffer& buffer = *plan.add_buffers();
    buffer.set_kind(v1::PlanBuffer::OUTPUT), buffer.set_name("o" + std::to_string(l)), buffer.set_dtype(v1::I32);
    buffer.set_max_bytes(4 * kUnits);
    push_const(buffer.add_shape(), kUnits);
    v1::Launch& launch = *plan.add_launches();
    launch.add_buffers(static_cast<std::uint32_t>(l));
    launch.set_min_units_per_thread(1);
    push_var(launch.mutable_grid(), 0);
  }
  v1::ParallelRegion& region = *plan.add_regions();
  region.set_num_launches(kLaunches), region.set_min_units_per_thread(2);
  return made;
}

Instance instance_of(const ThreadsPlan& made, int threads) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan = LoadedPlan::create(request);
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = threads});
  REQUIRE(instance.ok());
  return *std::move(instance);
}

const std::int32_t* output(const Instance& instance, int launch) {
  return static_cast<const std::int32_t*>(instance.output("o" + std::to_string(launch))->data);
}

// Units that one thread made in one launch and another one in the next.
int units_that_moved(const Instance& instance) {
  int moved = 0;
  for (int l = 1; l < kLaunches; ++l) {
    for (int i = 0; i < kUnits; ++i) moved += output(instance, l)[i] != output(instance, 0)[i];
  }
  return moved;
}

}  // namespace

TEST_CASE("a thread runs all launches of a region for its units", "[threads]") {
  Instance instance = instance_of(threads_plan(), 3);
  std::set<std::int32_t> threads;
  const auto replay = [&] {
    REQUIRE(instance.execute().ok());
    REQUIRE(units_that_moved(instance) == 0);
    threads.insert(output(instance, 0), output(instance, 0) + kUnits);
  };
  for (int i = 0; i < 300; ++i) replay();
  CHECK(hearth::test::eventually([&] {  // where the others had no time yet
    replay();
    return threads.size() > 1;
  }));
}

TEST_CASE("a region has as many units as the variables say, down to none", "[threads]") {
  for (const int threads : {1, 3}) {
    Instance instance = instance_of(threads_plan(), threads);
    for (const std::int64_t n : {64, 1, 0, 7}) {
      REQUIRE(instance.set_var("n", n).ok());
      for (int l = 0; l < kLaunches; ++l)
        std::fill_n(static_cast<std::int32_t*>(const_cast<void*>(instance.output("o" + std::to_string(l))->data)),
                    kUnits, 0);
      REQUIRE(instance.execute().ok());
      for (int l = 0; l < kLaunches; ++l) {
        CAPTURE(threads, n, l);
        CHECK(std::count(output(instance, l), output(instance, l) + kUnits, 0) == kUnits - n);
      }
    }
  }
}

TEST_CASE("a launch is divided only where its work is worth it at the variables' values", "[threads]") {
  // A thread should have at least 65 - n units: at n = 64 one, at n = 40 all of them are one thread's.
  const auto limit_by = [](v1::Expr* at) {
    push_const(at, kUnits + 1), push_var(at, 0), at->add_tokens()->set_kind(v1::ExprToken::SUB);
  };
  for (const bool in_region : {true, false}) {
    CAPTURE(in_region);
    ThreadsPlan made = threads_plan();
    if (in_region) {
      limit_by(made.plan.mutable_regions(0)->mutable_min_units_at());
    } else {
      made.plan.clear_regions();
      for (v1::Launch& launch : *made.plan.mutable_launches()) limit_by(launch.mutable_min_units_at());
    }
    Instance instance = instance_of(made, 3);
    std::set<std::int32_t> many, few;
    CHECK(hearth::test::eventually([&] {
      REQUIRE(instance.execute().ok());
      many.insert(output(instance, 0), output(instance, 0) + kUnits);
      return many.size() > 1;
    }));
    REQUIRE(instance.set_var("n", 40).ok());
    for (int replay = 0; replay < 200; ++replay) {
      REQUIRE(instance.execute().ok());
      few.insert(output(instance, 0), output(instance, 0) + 40);
    }
    CHECK(few.size() == 1);
  }
}

TEST_CASE("a region allocates nothing, and its launches are measured one by one", "[threads]") {
  Instance instance = instance_of(threads_plan(), 3);
  REQUIRE(instance.execute().ok());
  const AllocationCounter counter;
  REQUIRE(instance.execute().ok());
  CHECK(counter.count() == 0);
  const absl::StatusOr<Profile> profile = instance.execute_profiled();
  REQUIRE(profile.ok());
  REQUIRE(profile->launches.size() == kLaunches);
  for (const LaunchTime& launch : profile->launches) CHECK(launch.runs == 1);
}

TEST_CASE("a region may begin behind other launches and lie in a loop", "[threads]") {
  ThreadsPlan made = threads_plan();
  v1::ParallelRegion& region = *made.plan.mutable_regions(0);
  region.set_first_launch(1), region.set_num_launches(2);
  v1::PlanLoop& loop = *made.plan.add_loops();
  loop.set_first_launch(1), loop.set_num_launches(2), loop.set_max_count(2);
  push_const(loop.mutable_count(), 2);
  Instance instance = instance_of(made, 3);
  const absl::StatusOr<Profile> profile = instance.execute_profiled();
  REQUIRE(profile.ok());
  CHECK(profile->launches[0].runs == 1);
  CHECK(profile->launches[2].runs == 2);
  for (int replay = 0; replay < 100; ++replay) {
    REQUIRE(instance.execute().ok());
    REQUIRE(std::equal(output(instance, 1), output(instance, 1) + kUnits, output(instance, 2)));
  }
}

TEST_CASE("every corruption of a plan's regions is refused and named", "[threads]") {
  const auto region = [](v1::Plan& p) { return p.mutable_regions(0); };
  const PlanCorruption table[] = {
      {"region 0: launches [1, +3)", [&](v1::Plan& p) { region(p)->set_first_launch(1); }},
      {"region 0: launches [0, +0)", [&](v1::Plan& p) { region(p)->set_num_launches(0); }},
      {"region 0: launches [4294967295, +4294967295)",
       [&](v1::Plan& p) { region(p)->set_first_launch(~0u), region(p)->set_num_launches(~0u); }},
      {"region 1: launches [2, +1)",
       [&](v1::Plan& p) {
         *p.add_regions() = p.regions(0);
         p.mutable_regions(1)->set_first_launch(2), p.mutable_regions(1)->set_num_launches(1);
       }},
      {"region 0: launch 2 has another grid than launch 0",
       [](v1::Plan& p) {
         p.mutable_launches(2)->clear_grid();
         push_const(p.mutable_launches(2)->mutable_grid(), kUnits + 1);
       }},
      {"region 0: launch 1 is a once launch",
       [](v1::Plan& p) {
         for (v1::Launch& launch : *p.mutable_launches()) {
           launch.clear_grid();
           push_const(launch.mutable_grid(), kUnits);
         }
         p.mutable_buffers(1)->set_kind(v1::PlanBuffer::PERSISTENT), p.mutable_buffers(1)->clear_name();
         p.set_persistent_bytes(4 * kUnits);
         p.mutable_launches(1)->set_once(true);
       }},
      {"region 0: launches 0 and 2 are not parts of one loop",
       [](v1::Plan& p) {
         v1::PlanLoop& loop = *p.add_loops();
         loop.set_first_launch(2), loop.set_num_launches(1), loop.set_max_count(2);
         push_const(loop.mutable_count(), 2);
       }},
      {"region 0: min_units_per_thread 18446744073709551615 is out of range",
       [&](v1::Plan& p) { region(p)->set_min_units_per_thread(~std::uint64_t{0}); }},
      {"region 0: min_units_at: token 0: variable 3",
       [&](v1::Plan& p) { push_var(region(p)->mutable_min_units_at(), 3); }},
  };
  check_refused(threads_plan().plan, table);
}
