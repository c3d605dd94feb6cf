#include "compiler/passes/lowered/loop_rounds.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMost = std::int64_t{1} << 62;

std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::min<__int128>(static_cast<__int128>(a) * b, kMost));
}

std::int64_t trips(UOpRef range) {
  if (range->as<ir::RangeInfo>().kind == ir::RangeKind::Grid) return 1;
  return std::max<std::int64_t>(range->source(0)->bounds.max, 0);
}

}  // namespace

std::int64_t loop_rounds(const LinearKernel& kernel) {
  std::vector<std::int64_t> runs = {1};  // of the body of each open loop, for one invocation
  std::int64_t rounds = 0;
  for (UOpRef node : kernel.body) {
    if (ir::is_range(node, ir::RangeKind::Invocation)) continue;
    if (node->is(Op::Range)) {
      runs.push_back(times(runs.back(), trips(node)));
      if (node->as<ir::RangeInfo>().kind != ir::RangeKind::Grid) rounds = std::min(kMost, rounds + runs.back());
    } else if (node->is(Op::End)) {
      runs.pop_back();
    }
  }
  return rounds;
}

std::int64_t loop_rounds_bound(UOpRef kernel_ast) {
  // Each reduction as if it had loops of its own, inside of those of all that it depends on.
  std::int64_t all = 1, rounds = 0;
  std::vector<UOpRef> order = toposort(kernel_ast);
  for (UOpRef node : order) {
    if (node->is(Op::Range) && ir::is_loop(node->as<ir::RangeInfo>().kind) &&
        node->as<ir::RangeInfo>().kind != ir::RangeKind::Reduce)
      all = times(all, std::max<std::int64_t>(1, trips(node)));
  }
  // A nest of n loops makes at most n times the rounds of its innermost.
  for (UOpRef node : order) {
    if (!node->is(Op::Reduce)) continue;
    std::int64_t inner = all;
    for (std::size_t i = 1; i < node->sources.size(); ++i) {
      if (ir::is_range(node->source(i), ir::RangeKind::Invocation)) continue;
      inner = times(inner, std::max<std::int64_t>(1, trips(node->source(i))));
    }
    rounds = std::min(kMost, rounds + times(inner, static_cast<std::int64_t>(node->sources.size()) + 8));
  }
  return std::min(kMost, rounds + times(all, 8));
}

}  // namespace hearth::passes
