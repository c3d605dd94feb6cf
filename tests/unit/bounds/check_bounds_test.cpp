// Every load and store of the models' and of random graphs' kernels is in range: the compiler's checker says so, and Z3
// says so of the kernels as code generation gets them.
#include "compiler/passes/kernel/check_bounds.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "compiler/ir/text.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/support/skip.h"
#include "tests/unit/bounds/access_prover.h"
#include "tests/unit/bounds/plan_kernels.h"
#include "tests/unit/memory_plan/models.h"

namespace hearth::test {
namespace {

const v1::PassReport& report_of(const v1::LoweredPlan& plan, std::string_view name) {
  for (const v1::PassReport& report : plan.passes()) {
    if (report.name() == name) return report;
  }
  FAIL("no pass " << name);
  return plan.passes(0);
}

std::vector<ModelCase> models() {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  for (const std::string& reason : models_left_out()) skip_part(reason);
  std::vector<ModelCase> cases = model_cases(source_dir);
  REQUIRE(!cases.empty());
  return cases;
}

// Z3 on each access of the finished kernels; `seen` holds texts of kernels that need no second look.
struct Confirmation {
  std::uint64_t inside = 0, unknown = 0;
  std::set<std::string> seen;
  std::size_t most_of_a_kernel = 2;

  AccessProver prover;

  void check(const v1::LoweredPlan& plan) {
    for (PlanKernel& kernel : plan_kernels(plan)) {
      std::string text = ir::print(kernel.ast);
      for (ir::UOpRef size : kernel.sizes) text += ir::describe(size, 8) + "\n";
      if (!seen.insert(text).second) continue;
      const std::vector<KernelAccess> all = accesses(expanded(kernel));
      const std::size_t stride = (all.size() + most_of_a_kernel - 1) / most_of_a_kernel;  // copies are much alike
      for (std::size_t i = 0; i < all.size(); i += stride) {
        const KernelAccess& access = all[i];
        ir::UOpRef memory = access.index->source(0);
        ir::UOpRef size = memory->is(ir::Op::Allocate) ? kernel.graph->index(memory->as<ir::AllocationInfo>().elements)
                                                       : kernel.sizes.at(memory->as<ir::ParamInfo>().slot);
        const Verdict verdict = prover.check(access, size);
        INFO(kernel.symbol << ": " << ir::describe(access.index, 12) << " of " << ir::describe(size, 6)
                           << (verdict == Verdict::Outside ? "\n" + prover.model() : ""));
        CHECK(verdict != Verdict::Outside);
        (verdict == Verdict::Inside ? inside : unknown) += 1;
      }
    }
  }
};

TEST_CASE("every access of every model is proved at compile time") {
  std::printf("%-40s %6s %9s %9s %9s %9s %14s\n", "model", "vector", "accesses", "by bounds", "by proof", "guarded",
              "us, of split");
  for (const ModelCase& model : models()) {
    const absl::StatusOr<v1::Graph> graph = traced(model);
    INFO(model.name << ": " << graph.status());
    REQUIRE(graph.ok());
    for (const std::uint32_t bits : {128, 256, 512}) {
      const v1::LoweredPlan plan = lowered(*graph, bits);
      passes::BoundsCount count;
      for (PlanKernel& kernel : plan_kernels(plan)) {
        for (const passes::UnprovedAccess& access :
             passes::unproved_accesses(*kernel.graph, kernel.ast, kernel.sizes, count)) {
          FAIL_CHECK(model.name << ", " << kernel.symbol << ": " << ir::describe(access.index, 12));
        }
      }
      const v1::PassReport& report = report_of(plan, "kernels/check_bounds");
      CHECK(report.num_nodes() == count.accesses);
      CHECK(report.text().find(" 0 guarded") != std::string::npos);
      std::printf("%-40s %6u %9lu %9lu %9lu %9d %6.0f, %6.0f\n", model.name.c_str(), bits, count.accesses,
                  count.by_bounds, count.by_proof, 0, report.time_ns() / 1e3,
                  report_of(plan, "kernels").time_ns() / 1e3);
    }
  }
}

TEST_CASE("Z3 finds no access of a model outside of its buffer") {
  Confirmation confirmation;
  std::uint32_t bits = 128;
  for (const ModelCase& model : models()) {
    const absl::StatusOr<v1::Graph> graph = traced(model);
    REQUIRE(graph.ok());
    INFO(model.name << ", " << bits << " bits");
    if (model.name == "conformer_d256_h4_t256_dynamic 1x256") continue;  // the static model's kernels
    confirmation.check(lowered(*graph, bits));
    bits = bits == 512 ? 128 : bits * 2;
  }
  std::printf("models: %lu accesses in range by Z3, %lu undecided\n", confirmation.inside, confirmation.unknown);
  CHECK(confirmation.unknown == 0);
  CHECK(confirmation.inside > 20);
}

TEST_CASE("random graphs: nearly all accesses are proved, Z3 finds none outside") {
  passes::BoundsCount count;
  Confirmation confirmation;
  std::uint64_t guarded = 0;
  const char* wanted = std::getenv("HEARTH_FUZZ_GRAPHS");
  const std::uint64_t graphs = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 400;
  for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
    INFO("seed " << seed);
    const v1::LoweredPlan plan = lowered(conformance::random_graph(seed).graph, 128U << seed % 3);
    if (report_of(plan, "kernels/check_bounds").text().find(" 0 guarded") == std::string::npos) ++guarded;
    for (PlanKernel& kernel : plan_kernels(plan)) {
      // The guards are part of the kernels' text: with them nothing is left to prove.
      for (const auto& access : passes::unproved_accesses(*kernel.graph, kernel.ast, kernel.sizes, count)) {
        FAIL_CHECK(ir::describe(access.index, 12) << " of " << ir::describe(access.size, 6));
      }
    }
    if (seed % 10 == 0 && seed <= 400) confirmation.check(plan);
  }
  std::printf("%lu random graphs: %s; %lu graphs have a guard; Z3: %lu in range, %lu undecided\n", graphs,
              to_string(count).c_str(), guarded, confirmation.inside, confirmation.unknown);
  CHECK(count.accesses > 4 * graphs);
  CHECK(guarded * 200 <= graphs);
  CHECK(confirmation.inside > 80);
  CHECK(confirmation.unknown * 50 < confirmation.inside);
}

}  // namespace
}  // namespace hearth::test
