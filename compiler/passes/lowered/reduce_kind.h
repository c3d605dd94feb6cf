// The binary operation and the identity of each kind of reduction.
#pragma once
#include <cmath>

#include "compiler/ir/graph.h"
#include "compiler/ir/rounding.h"

namespace hearth::passes {

inline ir::UOpRef combine(ir::Graph& g, ir::ReduceKind kind, ir::UOpRef a, ir::UOpRef b) {
  switch (kind) {
    case ir::ReduceKind::Sum:
      return g.add(a, b);
    case ir::ReduceKind::Prod:
      return g.mul(a, b);
    case ir::ReduceKind::Max:
      return g.binary(ir::Op::Max, a, b);
    case ir::ReduceKind::Min:
      return g.binary(ir::Op::Min, a, b);
  }
  return nullptr;
}

// The extreme of an empty set: infinity where the dtype has one, else its last value.
inline double float_extreme(ir::DType dtype) {
  const ir::NarrowFormat* format = ir::narrow_format(dtype);
  return format && !format->has_infinity ? ir::greatest_finite(dtype) : static_cast<double>(INFINITY);
}

inline ir::UOpRef reduce_identity(ir::Graph& g, ir::ReduceKind kind, ir::DType dtype) {
  switch (kind) {
    case ir::ReduceKind::Sum:
      return g.constant(dtype, 0);
    case ir::ReduceKind::Prod:
      return g.constant(dtype, 1);
    case ir::ReduceKind::Max:
      if (is_float(dtype)) return g.constant(dtype, -float_extreme(dtype));
      return g.constant(dtype, ir::int_min(dtype));
    case ir::ReduceKind::Min:
      if (is_float(dtype)) return g.constant(dtype, float_extreme(dtype));
      return g.constant(dtype, dtype.scalar == ir::Scalar::U64 ? std::int64_t{-1} : ir::int_max(dtype));
  }
  return nullptr;
}

}  // namespace hearth::passes
