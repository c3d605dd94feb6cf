// Mutated graphs through the whole lowering: a refusal that names the place, or a plan whose every access is proved and
// whose kernels go through every pass but LLVM. HEARTH_FUZZ_GRAPHS says how many (default 4000), HEARTH_FUZZ_SEED where
// to begin: mutant i is made from seed + i. A crash prints its seed; HEARTH_FUZZ_GRAPHS=1 HEARTH_FUZZ_SEED=<seed>
// repeats it, HEARTH_FUZZ_PRINT=1 shows the graph first.
#include <catch2/catch.hpp>

#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/passes/kernel/check_bounds.h"
#include "compiler/passes/lowered/guard_loads.h"
#include "runtime/plan/plan.h"
#include "tests/conformance/ops/random_loop.h"
#include "tests/fuzz/graphs/mutator.h"
#include "tests/support/x86_target.h"
#include "tests/unit/bounds/access_prover.h"
#include "tests/unit/bounds/plan_kernels.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace hearth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCount = 800;
#else
constexpr std::uint64_t kCount = 4000;
#endif
constexpr double kSlow_s = 10;  // of one mutant of a graph of a few nodes

volatile std::uint64_t current_seed = 0;

void print_seed() {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "\nHEARTH_FUZZ_SEED=%lu\n", current_seed);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) return;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& starts) {
  return std::ranges::any_of(starts, [&](const std::string& s) { return text.rfind(s, 0) == 0; });
}

// Whether a refusal says what it must: a code of the client's fault, and the place.
std::string refusal_wrong(const absl::Status& status) {
  const std::string message(status.message());
  if (!absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status) && !absl::IsFailedPrecondition(status))
    return "code " + std::string(absl::StatusCodeToString(status.code()));
  const bool named =
      starts_with_any(message, {"node ", "variable ", "output ", "the traced graph", "traced graph has version "});
  return named ? "" : "no place is named";
}

// What is wrong with a plan, "" if nothing.
std::string plan_wrong(const v1::LoweredPlan& plan) {
  v1::Target null_device = x86_target(256);
  null_device.set_device("null");
  for (PlanKernel& kernel : plan_kernels(plan)) {
    passes::BoundsCount count;
    ir::Graph& g = *kernel.graph;
    if (passes::unproved_accesses(g, kernel.ast, kernel.sizes, count).empty()) continue;
    // Proved in lowering, not again from the plan's own sizes, which are written in another way: ask Z3.
    AccessProver prover;
    for (const KernelAccess& access : accesses(passes::guard_loads(g, kernel.ast))) {
      ir::UOpRef memory = access.index->source(0);
      ir::UOpRef size = memory->is(ir::Op::Allocate) ? g.index(memory->as<ir::AllocationInfo>().elements)
                                                     : kernel.sizes.at(memory->as<ir::ParamInfo>().slot);
      if (prover.check(access, size) == Verdict::Outside)
        return kernel.symbol + ": outside of " + ir::describe(size, 8) + ": " + ir::describe(access.index, 12);
    }
  }
  v1::Plan wire = plan.plan();
  *wire.mutable_target() = null_device;  // needs no artifacts
  const absl::StatusOr<runtime::Plan> parsed = runtime::parse_plan(wire.SerializeAsString());
  if (!parsed.ok()) return std::string(parsed.status().message());
  for (const v1::KernelSpec& kernel : plan.kernels()) {
    absl::StatusOr<v1::CompiledKernel> compiled = compiler::compile_kernel(kernel, null_device, {});
    if (!compiled.ok()) return kernel.symbol() + ": " + std::string(compiled.status().message()) + "\n" + kernel.ast();
  }
  return "";
}

TEST_CASE("mutated graphs are refused by name or lowered into kernels that stay inside") {
  const std::uint64_t count = setting("HEARTH_FUZZ_GRAPHS", kCount), first = setting("HEARTH_FUZZ_SEED", 1);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_seed);
  std::uint64_t refused = 0, lowered = 0;
  std::map<std::string, int> reasons;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    current_seed = seed;
    const bool is_loop = seed % 5 == 0;
    const v1::Graph graph = mutated(
        is_loop ? conformance::random_loop(seed % 5000).graph : conformance::random_graph(seed % 5000).graph, seed);
    if (setting("HEARTH_FUZZ_PRINT", 0)) std::cout << graph.DebugString() << std::endl;
    INFO("HEARTH_FUZZ_SEED=" << seed);
    const auto start = std::chrono::steady_clock::now();
    v1::CompileOptions options;
    const absl::StatusOr<v1::LoweredPlan> plan = compiler::lower(graph, x86_target(128U << seed % 3), options);
    const std::string wrong = plan.ok() ? plan_wrong(*plan) : refusal_wrong(plan.status());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    INFO((plan.ok() ? "lowered" : plan.status().ToString()));
    if (!wrong.empty() || time.count() > kSlow_s) {
      ++failures;
      FAIL_CHECK(wrong << ", " << time.count() << " s\n" << graph.DebugString());
    }
    ++(plan.ok() ? lowered : refused);
    if (!plan.ok()) {
      const std::string message(plan.status().message());
      ++reasons[message.substr(message.find(": ") + 1).substr(0, 24)];
    }
  }
  std::cout << "graph fuzz: " << count << " mutants from seed " << first << ": " << refused << " refused for "
            << reasons.size() << " kinds of reasons, " << lowered << " lowered" << std::endl;
  if (count >= 800) {  // the mutator still reaches both sides
    CHECK(refused > count / 5);
    CHECK(lowered > count / 5);
    CHECK(reasons.size() > 40);
  }
}

}  // namespace
}  // namespace hearth::test
