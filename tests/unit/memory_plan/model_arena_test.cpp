// Every model's arena is within 1.1 of the bytes that must be live at once, counted from the plan itself, and the plan
// has no two live buffers on one byte.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "compiler/compile.h"
#include "tests/support/skip.h"
#include "tests/support/x86_target.h"
#include "tests/unit/memory_plan/arena_check.h"
#include "tests/unit/memory_plan/models.h"

namespace hearth {
namespace {

constexpr double kMaxOverBound = 1.1;

// Bytes as the kernels need them, without the planner's alignment.
std::vector<ArenaBuffer> arena_of(const v1::Plan& plan) {
  std::vector<ArenaBuffer> all(plan.buffers_size());
  for (int l = 0; l < plan.launches_size(); ++l) {
    for (std::uint32_t b : plan.launches(l).buffers()) all[b].touch(static_cast<std::size_t>(l));
  }
  std::vector<ArenaBuffer> arena;
  for (int b = 0; b < plan.buffers_size(); ++b) {
    all[b].offset = plan.buffers(b).offset();
    all[b].bytes = plan.buffers(b).max_bytes();
    if (plan.buffers(b).kind() == v1::PlanBuffer::ARENA) arena.push_back(all[b]);
  }
  return arena;
}

}  // namespace

TEST_CASE("every model's arena is within 1.1 of its lower bound") {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  for (const std::string& reason : models_left_out()) test::skip_part(reason);
  const std::vector<ModelCase> models = model_cases(source_dir);
  REQUIRE(!models.empty());
  std::printf("%-40s %6s %8s %14s %14s %7s\n", "model", "vector", "buffers", "arena bytes", "lower bound", "ratio");
  for (const ModelCase& model : models) {
    const absl::StatusOr<v1::Graph> graph = traced(model);
    INFO(model.name << ": " << graph.status());
    REQUIRE(graph.ok());
    for (std::uint32_t vector_bits : {128, 256, 512}) {
      v1::CompileOptions options;
      options.set_opt_level(2);
      const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(*graph, test::x86_target(vector_bits), options);
      INFO(model.name << ": " << lowered.status());
      REQUIRE(lowered.ok());
      const v1::Plan& plan = lowered->plan();
      const std::vector<ArenaBuffer> arena = arena_of(plan);
      const std::uint64_t bound = lower_bound_bytes(arena, static_cast<std::size_t>(plan.launches_size()));
      const double ratio = bound == 0 ? 1 : static_cast<double>(plan.arena_bytes()) / static_cast<double>(bound);
      std::printf("%-40s %6u %8zu %14llu %14llu %7.3f\n", model.name.c_str(), vector_bits, arena.size(),
                  static_cast<unsigned long long>(plan.arena_bytes()), static_cast<unsigned long long>(bound), ratio);
      CHECK(first_overlap(arena) == "");
      CHECK(end_of(arena) <= plan.arena_bytes());
      CHECK(plan.arena_bytes() >= bound);
      CHECK(ratio <= kMaxOverBound);
      if (bound == 0) CHECK(plan.arena_bytes() == 0);
    }
  }
  std::fflush(stdout);
}

}  // namespace hearth
