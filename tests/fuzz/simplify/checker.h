// One expression checked: simplified it has the same dtype, the same value wherever the original has one, stays as it
// is when simplified again, fits the budget, leaves no node outside its bounds and reads no element outside a buffer.
//
//   std::optional<std::string> failure = check(graph, root, rules, sizes, seed, counts);
//   if (failure) root = minimize(graph, root, [&](UOpRef r) { return check(graph, r, ...).has_value(); });
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "compiler/rewrite/driver.h"
#include "tests/unit/rules/evaluator.h"

namespace hearth::test {

struct Counts {
  std::uint64_t points = 0, changed = 0;
  std::vector<std::uint64_t> fired;
};

// `root`: whatever observe() sees something of. The points are drawn
// from `seed` alone. What is wrong, in words; nothing when all holds.
std::optional<std::string> check(ir::Graph& graph, ir::UOpRef root, const rewrite::RuleSet& rules,
                                 const BufferSizes& sizes, std::uint64_t seed, Counts& counts);

// A smaller expression that still fails: sub-expressions alone, then nodes replaced by a source, a constant or a leaf,
// until nothing more can go.
ir::UOpRef minimize(ir::Graph& graph, ir::UOpRef root, const std::function<bool(ir::UOpRef)>& fails);

}  // namespace hearth::test
