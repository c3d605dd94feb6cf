// Shapes of tensor-level nodes: one index UOp a dim, simplified, derived from the node (never stored on it).
// A ShapeCache belongs to one Graph and one thread.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::ir {

using Shape = std::vector<UOpRef>;

class ShapeCache {
 public:
  explicit ShapeCache(Graph& graph) : graph_(graph) {}
  // Shape of a tensor-level node (Const, Buffer, Iota, elementwise, Movement, ReduceAxis, MatMul, Gather).
  const Shape& of(UOpRef node);
  Graph& graph() { return graph_; }

 private:
  Shape derive(UOpRef node);
  Graph& graph_;
  std::unordered_map<UOpRef, Shape> shapes_;
};

// Index arithmetic that folds constants and identities as it builds (no rule engine needed).
UOpRef fold_add(Graph& g, UOpRef a, UOpRef b);
UOpRef fold_sub(Graph& g, UOpRef a, UOpRef b);
UOpRef fold_mul(Graph& g, UOpRef a, UOpRef b);
UOpRef fold_floordiv(Graph& g, UOpRef a, UOpRef b);
UOpRef fold_floormod(Graph& g, UOpRef a, UOpRef b);
UOpRef fold_and(Graph& g, UOpRef a, UOpRef b);
// a < b as a bool, folded by bounds.
UOpRef fold_lt(Graph& g, UOpRef a, UOpRef b);
UOpRef num_elements(Graph& g, const Shape& shape);

}  // namespace hearth::ir
