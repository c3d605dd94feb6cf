// Graph: the arena of one compilation. Owns every UOp; hash-conses by full comparison.
// Single-threaded. References stay valid for the Graph's life. Construction never fails: arguments are the
// caller's contract (assertions); untrusted graphs pass passes/import first.
//
//   Graph g;
//   UOpRef i = g.range(g.index(16), 0, RangeKind::Loop);
//   UOpRef x = g.add(g.mul(i, g.index(4)), g.index(1));
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/uop.h"

namespace hearth::ir {

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The node with these fields, made if there is none. No simplification.
  UOpRef make(Op op, DType dtype, std::span<const UOpRef> sources, Payload payload = {});
  UOpRef make(Op op, DType dtype, std::initializer_list<UOpRef> sources, Payload payload = {}) {
    return make(op, dtype, std::span<const UOpRef>(sources.begin(), sources.size()), std::move(payload));
  }
  // `node` with other sources.
  UOpRef with_sources(UOpRef node, std::span<const UOpRef> sources) {
    return make(node->op, node->dtype, sources, node->payload);
  }

  // Constants, wrapped/rounded to the dtype; a vector dtype gives a broadcast.
  UOpRef constant(DType dtype, std::int64_t value);
  UOpRef constant(DType dtype, double value);
  UOpRef constant(DType dtype, int value) { return constant(dtype, static_cast<std::int64_t>(value)); }
  UOpRef index(std::int64_t value) { return constant(DType(Scalar::Index), value); }
  UOpRef boolean(bool value) { return constant(DType(Scalar::Bool), static_cast<std::int64_t>(value)); }
  UOpRef zero_like(UOpRef x) {
    return is_float(x->dtype) ? constant(x->dtype, 0.0) : constant(x->dtype, std::int64_t{0});
  }

  // Elementwise helpers: dtype from the operands (bool for comparisons).
  UOpRef unary(Op op, UOpRef x) { return make(op, x->dtype, {x}); }
  UOpRef binary(Op op, UOpRef a, UOpRef b);
  UOpRef add(UOpRef a, UOpRef b) { return binary(Op::Add, a, b); }
  UOpRef sub(UOpRef a, UOpRef b) { return binary(Op::Sub, a, b); }
  UOpRef mul(UOpRef a, UOpRef b) { return binary(Op::Mul, a, b); }
  UOpRef floordiv(UOpRef a, UOpRef b) { return binary(Op::FloorDiv, a, b); }
  UOpRef floormod(UOpRef a, UOpRef b) { return binary(Op::FloorMod, a, b); }
  UOpRef lt(UOpRef a, UOpRef b) { return binary(Op::Lt, a, b); }
  UOpRef le(UOpRef a, UOpRef b) { return binary(Op::Le, a, b); }
  UOpRef logical_and(UOpRef a, UOpRef b) { return binary(Op::And, a, b); }
  UOpRef where(UOpRef c, UOpRef a, UOpRef b) { return make(Op::Where, a->dtype, {c, a, b}); }
  UOpRef cast(UOpRef x, DType dtype) { return x->dtype == dtype ? x : make(Op::Cast, dtype, {x}); }
  UOpRef range(UOpRef size, std::uint32_t axis, RangeKind kind) {
    return make(Op::Range, Scalar::Index, {size}, RangeInfo{axis, kind});
  }
  UOpRef var(std::string name, std::int64_t min, std::int64_t max, std::uint32_t slot) {
    return make(Op::Var, Scalar::Index, {}, VarInfo{std::move(name), min, max, slot});
  }

  // A number no earlier call of this graph returned; deterministic. For axes and stages.
  std::uint32_t fresh_id() { return next_id_++; }

  std::size_t size() const { return nodes_.size(); }

  // What a set of rewrite rules, by its number, has made of this graph's nodes, by theirs; null: not known. It depends on
  // a node alone, so that it holds as long as the graph. For rewrite::rewrite.
  std::vector<UOpRef>& rewritten(std::uint64_t rules) { return rewritten_[rules]; }

  // Provenance: while a scope is open, new nodes take its set. Sets are sorted, unique texts, at most kMaxProvenance once
  // merged: enough to find the place, and merging stays linear.
  static constexpr std::size_t kMaxProvenance = 16;
  std::uint32_t provenance_set(std::vector<std::string> texts);
  std::uint32_t merge_provenance(std::uint32_t a, std::uint32_t b);
  const std::vector<std::string>& provenance_texts(std::uint32_t set) const { return *provenance_sets_[set]; }
  std::uint32_t current_provenance = 0;

 private:
  struct Key;
  std::deque<UOp> nodes_;
  std::deque<std::vector<UOpRef>> source_storage_;
  std::vector<std::uint32_t> table_;  // open addressing: node index + 1, 0 = empty
  std::vector<std::size_t> hashes_;
  std::map<std::vector<std::string>, std::uint32_t> provenance_ids_;
  std::vector<const std::vector<std::string>*> provenance_sets_;        // keys of provenance_ids_
  std::unordered_map<std::uint64_t, std::uint32_t> merged_provenance_;  // (a, b) -> merge_provenance(a, b)
  std::unordered_map<std::uint64_t, std::vector<UOpRef>> rewritten_;
  std::uint32_t next_id_ = 0;
  void grow();
};

// Sets graph.current_provenance for a scope.
class ProvenanceScope {
 public:
  ProvenanceScope(Graph& graph, std::uint32_t set) : graph_(graph), saved_(graph.current_provenance) {
    graph.current_provenance = set;
  }
  ~ProvenanceScope() { graph_.current_provenance = saved_; }
  ProvenanceScope(const ProvenanceScope&) = delete;
  ProvenanceScope& operator=(const ProvenanceScope&) = delete;

 private:
  Graph& graph_;
  std::uint32_t saved_;
};

// Sources before users, each once; iterative; order depends only on structure. `enters(node)`: whether `node`, a source
// of one that was entered, is entered and listed; it may not sort itself.
template <class Enters>
std::vector<UOpRef> toposort(std::span<const UOpRef> roots, Enters enters);
inline std::vector<UOpRef> toposort(std::span<const UOpRef> roots) {
  return toposort(roots, [](UOpRef) { return true; });
}
inline std::vector<UOpRef> toposort(UOpRef root) { return toposort(std::span<const UOpRef>(&root, 1)); }
// Whether `root` or anything below it is `op`.
inline bool contains_op(UOpRef root, Op op) {
  return std::ranges::any_of(toposort(root), [&](UOpRef x) { return x->is(op); });
}
// The first number that no range at or below `root` has for its axis.
std::uint32_t next_axis(UOpRef root);

// Copies `root` with every node of `map` (pairs from -> to) replaced, bottom up.
UOpRef substitute(Graph& graph, UOpRef root, std::span<const std::pair<UOpRef, UOpRef>> map);

// The nodes that a sort has come by, by their numbers: a byte each in memory that the thread keeps. One at a time.
class Visited {
 public:
  // False where it was there before.
  bool insert(UOpRef node) {
    if (node->id >= marks_.size()) marks_.resize(std::max<std::size_t>(node->id + 1, 2 * marks_.size()));
    return std::exchange(marks_[node->id], std::uint8_t{1}) == 0;
  }
  // All that were inserted.
  void erase(const std::vector<UOpRef>& nodes) {
    for (UOpRef node : nodes) marks_[node->id] = 0;
  }

 private:
  static thread_local std::vector<std::uint8_t> marks_;
};

template <class Enters>
std::vector<UOpRef> toposort(std::span<const UOpRef> roots, Enters enters) {
  std::vector<UOpRef> order;
  Visited visited;
  struct Frame {
    UOpRef node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (UOpRef root : roots) {
    if (!visited.insert(root)) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.node->sources.size()) {
        UOpRef source = frame.node->sources[frame.next++];
        if (enters(source) && visited.insert(source)) stack.push_back({source, 0});
      } else {
        order.push_back(frame.node);
        stack.pop_back();
      }
    }
  }
  visited.erase(order);
  return order;
}

}  // namespace hearth::ir
