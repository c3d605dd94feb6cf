// Kernels made wrong on purpose: an index shifted by one, a gate removed or weakened, a loop one longer. Z3 says which
// of them leave a buffer; the compiler's checker must notice every one of those, and its guards must mend it.
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>

#include "compiler/ir/text.h"
#include "compiler/passes/kernel/check_bounds.h"
#include "compiler/passes/lowered/guard_loads.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/unit/bounds/access_prover.h"
#include "tests/unit/bounds/plan_kernels.h"

namespace hearth::test {
namespace {

using ir::Op;
using ir::UOpRef;

UOpRef replaced(ir::Graph& g, UOpRef root, UOpRef from, UOpRef to) {
  std::pair<UOpRef, UOpRef> map[] = {{from, to}};
  return ir::substitute(g, root, map);
}

UOpRef with_index(ir::Graph& g, UOpRef index, UOpRef position, UOpRef gate) {
  return g.make(Op::Index, ir::Scalar::Void, {index->source(0), position, gate});
}

struct Mutant {
  const char* kind;
  UOpRef kernel;
};

// `a < b` becomes `a <= b`.
UOpRef weakened(ir::Graph& g, UOpRef gate) {
  for (UOpRef x : ir::toposort(gate)) {
    if (x->is(Op::Lt) && x->source(0)->dtype == ir::DType(ir::Scalar::Index))
      return replaced(g, gate, x, g.le(x->source(0), x->source(1)));
  }
  return nullptr;
}

std::vector<Mutant> mutants_of(ir::Graph& g, UOpRef kernel) {
  std::vector<Mutant> mutants;
  for (UOpRef x : ir::toposort(kernel)) {
    if (x->is(Op::Index)) {
      UOpRef position = x->source(1), gate = x->sources.back();
      const auto add = [&](const char* kind, UOpRef index) {
        mutants.push_back({kind, replaced(g, kernel, x, index)});
      };
      add("one further", with_index(g, x, g.add(position, g.index(1)), gate));
      add("one before", with_index(g, x, g.add(position, g.index(-1)), gate));
      if (!gate->is_const()) {
        add("no gate", with_index(g, x, position, g.boolean(true)));
        if (UOpRef weaker = weakened(g, gate)) add("weaker gate", with_index(g, x, position, weaker));
      }
    } else if (x->is(Op::Range)) {
      const auto& info = x->as<ir::RangeInfo>();
      UOpRef longer = g.range(g.add(x->source(0), g.index(1)), info.axis, info.kind);
      mutants.push_back({"longer loop", replaced(g, kernel, x, longer)});
    }
  }
  return mutants;
}

UOpRef size_of(ir::Graph& g, UOpRef memory, const std::vector<UOpRef>& sizes) {
  return memory->is(Op::Allocate) ? g.index(memory->as<ir::AllocationInfo>().elements)
                                  : sizes.at(memory->as<ir::ParamInfo>().slot);
}

// Whether Z3 finds an access outside; Unknown when it finds none but is not sure of all.
Verdict judge(AccessProver& prover, ir::Graph& g, UOpRef kernel, const std::vector<UOpRef>& sizes) {
  Verdict verdict = Verdict::Inside;
  for (const KernelAccess& access : accesses(passes::guard_loads(g, kernel))) {
    const Verdict one = prover.check(access, size_of(g, access.index->source(0), sizes));
    if (one == Verdict::Outside) return one;
    if (one == Verdict::Unknown) verdict = one;
  }
  return verdict;
}

TEST_CASE("the checker notices every mutant that leaves a buffer") {
  std::map<std::string, std::pair<int, int>> outside_and_inside;
  int false_alarms = 0, mended = 0;
  AccessProver prover;
  for (std::uint64_t seed = 1; seed <= 28; ++seed) {
    const v1::LoweredPlan plan = lowered(conformance::random_graph(seed).graph, 128U << seed % 3);
    for (PlanKernel& kernel : plan_kernels(plan)) {
      ir::Graph& g = *kernel.graph;
      if (accesses(kernel.ast).size() > 6) continue;
      const std::vector<Mutant> mutants = mutants_of(g, kernel.ast);
      for (std::size_t i = seed % 4; i < mutants.size(); i += 4) {
        passes::BoundsCount count;
        const bool noticed = !passes::unproved_accesses(g, mutants[i].kernel, kernel.sizes, count).empty();
        const Verdict verdict = judge(prover, g, mutants[i].kernel, kernel.sizes);
        INFO("seed " << seed << ", " << kernel.symbol << ", " << mutants[i].kind << "\n"
                     << ir::print(mutants[i].kernel));
        if (verdict == Verdict::Outside) CHECK(noticed);
        auto& [outside, inside] = outside_and_inside[mutants[i].kind];
        (verdict == Verdict::Outside ? outside : inside) += 1;
        false_alarms += verdict == Verdict::Inside && noticed ? 1 : 0;
        if (verdict != Verdict::Outside || mended >= 20) continue;
        UOpRef guarded = passes::guard_bounds(g, mutants[i].kernel, kernel.sizes, count);
        CHECK(judge(prover, g, guarded, kernel.sizes) == Verdict::Inside);
        ++mended;
      }
    }
  }
  int outside = 0, inside = 0;
  for (const auto& [kind, counts] : outside_and_inside) {
    std::printf("mutants, %-12s %4d leave a buffer, %4d do not\n", (kind + ":").c_str(), counts.first, counts.second);
    CHECK(counts.first > 0);
    outside += counts.first;
    inside += counts.second;
  }
  std::printf("mutants: all %d noticed, %d of the %d harmless ones guarded needlessly\n", outside, false_alarms,
              inside);
  CHECK(outside > 60);
  CHECK(false_alarms * 10 <= inside);
}

// By hand, so that the verdict does not hang on Z3.
TEST_CASE("a copy kernel and its mutants") {
  struct Row {
    const char* what;
    const char* from;
    const char* to;
    std::uint64_t guards;
  };
  const std::string copy = R"(%0 = param f32 [slot=0]
%1 = range index 10:index [axis=0 loop]
%2 = index void %0 %1 true:bool
%3 = param f32 [slot=1]
%4 = add index %1 -1:index
%5 = lt bool 0:index %1
%6 = index void %3 %4 %5
%7 = load f32 %6
%8 = store void %2 %7 %1
%9 = sink void %8
)";
  const Row rows[] = {
      {"as it is", "", "", 0},
      {"the loop is one longer", "range index 10:index", "range index 11:index", 2},
      {"the load is one before", "add index %1 -1:index", "add index %1 -2:index", 1},
      {"the load is one further", "add index %1 -1:index", "add index %1 1:index", 1},
      {"the gate lets one more in", "lt bool 0:index %1", "le bool 0:index %1", 1},
      {"the gate is gone", "index void %3 %4 %5", "index void %3 %4 true:bool", 1},
      {"a buffer nobody named", "param f32 [slot=1]", "param f32 [slot=2]", 1},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    std::string text = copy;
    if (*row.from) text.replace(text.find(row.from), std::string_view(row.from).size(), row.to);
    ir::Graph g;
    const absl::StatusOr<UOpRef> kernel = ir::parse(g, text);
    REQUIRE(kernel.ok());
    const std::vector<UOpRef> sizes = {g.index(10), g.index(9)};
    passes::BoundsCount count;
    CHECK(passes::unproved_accesses(g, *kernel, sizes, count).size() == row.guards);
    CHECK(count.accesses == 2);
    // Guarded, nothing is left to prove; what was proved stays as it was, node by node.
    UOpRef guarded = passes::guard_bounds(g, *kernel, sizes, count);
    CHECK((guarded == *kernel) == (row.guards == 0));
    CHECK(count.guarded == row.guards);
    CHECK(passes::unproved_accesses(g, guarded, sizes, count).empty());
  }
}

}  // namespace
}  // namespace hearth::test
