#include "compiler/passes/tensor/canonicalize.h"

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

UOpRef with_shape(ir::Graph& g, Op op, UOpRef x, const Shape& shape) {
  std::vector<UOpRef> sources = {x};
  sources.insert(sources.end(), shape.begin(), shape.end());
  return g.make(op, x->dtype, sources);
}

// [.., m, k] x [.., k, n]: both become [.., m, n, k], products are summed over k. Narrow floats accumulate in f32.
UOpRef decompose_matmul(ir::Graph& g, ir::ShapeCache& shapes, UOpRef a, UOpRef b) {
  const Shape a_shape = shapes.of(a), b_shape = shapes.of(b);
  std::size_t rank = a_shape.size();
  ir::DType dtype = a->dtype;
  if (is_float(dtype) && byte_size(dtype) < 4) {
    a = g.cast(a, ir::Scalar::F32);
    b = g.cast(b, ir::Scalar::F32);
  }
  Shape full(a_shape.begin(), a_shape.end() - 1);
  full.push_back(b_shape.back());
  full.push_back(a_shape.back());

  Shape a_column(a_shape.begin(), a_shape.end() - 1);
  a_column.push_back(g.index(1));
  a_column.push_back(a_shape.back());
  UOpRef left = with_shape(g, Op::Expand, with_shape(g, Op::Reshape, a, a_column), full);

  std::vector<std::int64_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  UOpRef b_transposed = g.make(Op::Permute, b->dtype, {b}, ir::Axes{order});
  Shape b_row(b_shape.begin(), b_shape.end() - 2);
  b_row.push_back(g.index(1));
  b_row.push_back(b_shape[rank - 1]);
  b_row.push_back(b_shape[rank - 2]);
  UOpRef right = with_shape(g, Op::Expand, with_shape(g, Op::Reshape, b_transposed, b_row), full);

  UOpRef sum = g.make(Op::ReduceAxis, left->dtype, {g.mul(left, right)},
                      ir::ReduceInfo{ir::ReduceKind::Sum, {static_cast<std::int64_t>(rank)}});
  Shape result(full.begin(), full.end() - 1);
  return g.cast(with_shape(g, Op::Reshape, sum, result), dtype);
}

}  // namespace

absl::StatusOr<UOpRef> canonicalize(ir::Graph& g, UOpRef sink) {
  ir::ShapeCache shapes(g);
  sink = rebuild(g, sink, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    return node->is(Op::MatMul) ? decompose_matmul(g, shapes, sources[0], sources[1]) : nullptr;
  });
  return rules::simplify_tensor(g, sink);
}

}  // namespace hearth::passes
