// A small evaluator of scalar integer, bool and index expressions for the tests, written against ir/uop.h and apart
// from compiler/rewrite/fold: one 128-bit value a node, wrapped to its dtype.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace hearth::test {

// Values of the leaves that are not constants.
using Assignment = std::map<ir::UOpRef, std::int64_t>;

// Sets every Var and Range below `root` within its bounds (symbolic sizes: variables first); false when a range is
// empty there. `next` gives a value in [0, n).
template <class Next>
bool assign(ir::UOpRef root, Assignment& leaves, Next next);

// The value; nothing where an index value would leave int64.
std::optional<__int128> evaluate(ir::UOpRef root, const Assignment& leaves);

template <class Next>
bool assign(ir::UOpRef root, Assignment& leaves, Next next) {
  for (ir::UOpRef node : ir::toposort(root)) {
    if (leaves.contains(node)) continue;
    if (node->is(ir::Op::Var)) {
      const auto& info = node->as<ir::VarInfo>();
      leaves[node] = info.min + static_cast<std::int64_t>(next(static_cast<std::uint64_t>(info.max - info.min) + 1));
    } else if (node->is(ir::Op::Range)) {
      const std::optional<__int128> size = evaluate(node->source(0), leaves);
      if (!size || *size <= 0) return false;
      leaves[node] = static_cast<std::int64_t>(next(static_cast<std::uint64_t>(*size)));
    } else if (node->is(ir::Op::Param)) {
      leaves[node] = static_cast<std::int64_t>(next(0));
    }
  }
  return true;
}

}  // namespace hearth::test
