#include "compiler/passes/ranged/movement_index.h"

#include <limits>

#include "base/status_macros.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

// Splits a position within axes `dims` into one index an axis.
absl::Status split_flat(ir::Graph& g, UOpRef flat, const Shape& dims, std::vector<UOpRef>& out) {
  std::vector<UOpRef> reversed;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == g.index(1)) {
      reversed.push_back(g.index(0));
      continue;
    }
    bool outermost = true;
    for (std::size_t j = 0; j < i; ++j) outermost &= dims[j] == g.index(1);
    HEARTH_ASSIGN_OR_RETURN(auto digit, rules::simplify(g, outermost ? flat : ir::fold_floormod(g, flat, dims[i])));
    reversed.push_back(digit);
    if (outermost) {
      flat = g.index(0);
      continue;
    }
    HEARTH_ASSIGN_OR_RETURN(auto rest, rules::simplify(g, ir::fold_floordiv(g, flat, dims[i])));
    flat = rest;
  }
  out.insert(out.end(), reversed.rbegin(), reversed.rend());
  return absl::OkStatus();
}

UOpRef product(ir::Graph& g, const Shape& shape, std::size_t begin, std::size_t end) {
  return num_elements(g, Shape(shape.begin() + begin, shape.begin() + end));
}

absl::StatusOr<std::vector<UOpRef>> reshape_index(ir::Graph& g, const Shape& from, const Shape& to,
                                                  const std::vector<UOpRef>& index) {
  std::vector<UOpRef> out;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    std::size_t i0 = i, j0 = j;
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      out.push_back(index[j]);
      ++i, ++j;
      continue;
    }
    // Grow both groups until they hold equally many elements; if that never is provable, the rest is one group.
    bool closed = false;
    while (!closed) {
      UOpRef a = product(g, from, i0, i), b = product(g, to, j0, j);
      if (a == b && (i > i0 || j > j0)) {
        closed = true;
        break;
      }
      bool a_smaller = ir::fold_lt(g, a, b)->bounds.min == 1;
      bool b_smaller = ir::fold_lt(g, b, a)->bounds.min == 1;
      if (a_smaller && i < from.size()) {
        ++i;
      } else if (b_smaller && j < to.size()) {
        ++j;
      } else if (a == b && i < from.size() && j < to.size()) {
        ++i, ++j;
      } else {
        i = from.size(), j = to.size();
        break;
      }
    }
    // Trailing ones belong to the group before them.
    while (i < from.size() && from[i] == g.index(1) && (j >= to.size() || to[j] != g.index(1))) ++i;
    while (j < to.size() && to[j] == g.index(1) && (i >= from.size() || from[i] != g.index(1))) ++j;
    Shape group(to.begin() + j0, to.begin() + j);
    std::vector<UOpRef> digits(index.begin() + j0, index.begin() + j);
    HEARTH_ASSIGN_OR_RETURN(auto flat, rules::simplify(g, flat_index(g, group, digits)));
    if (auto s = split_flat(g, flat, Shape(from.begin() + i0, from.begin() + i), out); !s.ok()) return s;
  }
  return out;
}

}  // namespace

UOpRef as_index(ir::Graph& g, UOpRef value) {
  if (value->dtype.scalar == ir::Scalar::U64)
    value = g.binary(Op::Min, value, g.constant(value->dtype, std::numeric_limits<std::int64_t>::max()));
  return g.cast(value, ir::Scalar::Index);
}

UOpRef flat_index(ir::Graph& g, const Shape& shape, const std::vector<UOpRef>& index) {
  UOpRef flat = g.index(0);
  UOpRef stride = g.index(1);
  for (std::size_t i = shape.size(); i-- > 0;) {
    flat = ir::fold_add(g, ir::fold_mul(g, index[i], stride), flat);
    stride = ir::fold_mul(g, stride, shape[i]);
  }
  return flat;
}

absl::StatusOr<SourceIndex> source_index(ir::ShapeCache& shapes, UOpRef node, const std::vector<UOpRef>& index) {
  ir::Graph& g = shapes.graph();
  UOpRef x = node->source(0);
  const Shape from = shapes.of(x);
  std::size_t rank = from.size();
  SourceIndex out;
  switch (node->op) {
    case Op::Reshape: {
      const Shape to = shapes.of(node);
      HEARTH_ASSIGN_OR_RETURN(out.index, reshape_index(g, from, to, index));
      return out;
    }
    case Op::Expand:
      out.index = index;
      for (std::size_t i = 0; i < rank; ++i) {
        if (from[i] == g.index(1)) out.index[i] = g.index(0);
      }
      return out;
    case Op::Permute: {
      out.index.resize(rank);
      const auto& axes = node->as<ir::Axes>().axes;
      for (std::size_t i = 0; i < rank; ++i) out.index[axes[i]] = index[i];
      return out;
    }
    case Op::Shrink:
      for (std::size_t i = 0; i < rank; ++i) out.index.push_back(ir::fold_add(g, index[i], node->source(1 + i)));
      return out;
    case Op::Flip:
      out.index = index;
      for (std::int64_t a : node->as<ir::Axes>().axes) {
        out.index[a] = ir::fold_sub(g, ir::fold_add(g, from[a], g.index(-1)), index[a]);
      }
      return out;
    case Op::Unfold: {
      std::int64_t a = node->as<ir::Axes>().axes[0];
      out.index.assign(index.begin(), index.end() - 1);
      out.index[a] =
          ir::fold_add(g, ir::fold_mul(g, index[a], node->source(2)), ir::fold_mul(g, index.back(), node->source(3)));
      return out;
    }
    case Op::Pad: {
      out.inside = g.boolean(true);
      for (std::size_t i = 0; i < rank; ++i) {
        UOpRef before = node->source(2 + i), after = node->source(2 + rank + i);
        UOpRef position = ir::fold_sub(g, index[i], before);
        out.index.push_back(position);
        if (before != g.index(0))
          out.inside = ir::fold_and(g, out.inside, ir::fold_lt(g, ir::fold_add(g, before, g.index(-1)), index[i]));
        if (after != g.index(0))
          out.inside = ir::fold_and(g, out.inside, ir::fold_lt(g, index[i], ir::fold_add(g, before, from[i])));
      }
      return out;
    }
    default:
      return absl::InternalError("source_index of an op that moves nothing");
  }
}

}  // namespace hearth::passes
