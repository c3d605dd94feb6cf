// A small evaluator of scalar integer, bool and index expressions for the tests, written against ir/uop.h and apart
// from compiler/rewrite/fold: one 128-bit value a node, wrapped to its dtype. Reductions run as loops, loads give a
// value made of slot and position. It also watches every node's bounds and every access.
//
//   Evaluator machine(leaves, sizes);
//   std::optional<__int128> value = machine.value(root);   // nothing where an index value would leave int64
//   REQUIRE(machine.outside() == nullptr);                  // a load beyond its buffer, also in an arm not chosen
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::test {

// Values of the leaves that are not constants.
using Assignment = std::map<ir::UOpRef, std::int64_t>;

// The number of elements of buffers by Param slot; a slot without one has no end.
using BufferSizes = std::map<std::uint32_t, ir::UOpRef>;

class Evaluator {
 public:
  using Wide = __int128;
  explicit Evaluator(Assignment leaves, const BufferSizes& sizes = none())
      : leaves_(std::move(leaves)), sizes_(sizes) {}

  // Of `where` and of a gated load only what is chosen counts.
  std::optional<Wide> value(ir::UOpRef node);

  ir::UOpRef outside() const { return outside_; }  // an access outside its buffer, gate true; null: none
  ir::UOpRef unsound() const { return unsound_; }  // a node whose value was not within its bounds; null: none

 private:
  static const BufferSizes& none();
  std::optional<Wide> compute(ir::UOpRef node);
  std::optional<Wide> load(ir::UOpRef node);
  std::optional<Wide> reduce(ir::UOpRef node);

  Assignment leaves_;
  const BufferSizes& sizes_;
  std::unordered_map<ir::UOpRef, std::optional<Wide>> values_;
  ir::UOpRef outside_ = nullptr, unsound_ = nullptr;
};

// What can be seen of `root`: its value; of an Index its gate and, where that is true, its positions; of a Store also
// the value. Nothing where one of these has no value.
std::optional<std::vector<__int128>> observe(Evaluator& machine, ir::UOpRef root);

// Sets every Var, Param and free Range below `root` within its bounds (symbolic sizes: variables first); false when
// such a range is empty there. `next` gives a value in [0, n), any for n = 0.
template <class Next>
bool assign(ir::UOpRef root, Assignment& leaves, Next next);

// One arithmetic operation on its operands' values; `b` counts where there are two. Nothing where an index value would
// leave int64.
std::optional<__int128> operate(ir::UOpRef node, __int128 a, __int128 b);

// Evaluator's value, without memory.
std::optional<__int128> evaluate(ir::UOpRef root, const Assignment& leaves);

template <class Next>
bool assign(ir::UOpRef root, Assignment& leaves, Next next) {
  const std::vector<ir::UOpRef> order = ir::toposort(root);
  std::unordered_set<ir::UOpRef> bound;
  for (ir::UOpRef node : order) {
    if (node->is(ir::Op::Reduce)) bound.insert(node->sources.begin() + 1, node->sources.end());
  }
  for (ir::UOpRef node : order) {
    if (leaves.contains(node) || bound.contains(node)) continue;
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
