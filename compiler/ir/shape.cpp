#include "compiler/ir/shape.h"

#include <cassert>

#include "base/integer_math.h"
#include "compiler/ir/affine.h"
#include "compiler/ir/bounds.h"
#include "compiler/ir/length.h"

namespace hearth::ir {
namespace {

bool is_value(UOpRef x, std::int64_t v) { return x->is_const() && x->int_value() == v; }

// Floor division and modulo of the IR: x div 0 = 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : hearth::floor_div(a, b); }

// A length that can only be one number is that number, so that equal lengths are one node.
UOpRef known(Graph& g, UOpRef x) {
  return is_single_value(x->bounds) && x->bounds.max != INT64_MAX ? g.index(x->bounds.min) : x;
}

}  // namespace

UOpRef fold_add(Graph& g, UOpRef a, UOpRef b) {
  if (a->is_const() && b->is_const()) return g.index(a->int_value() + b->int_value());
  if (is_value(a, 0)) return b;
  if (is_value(b, 0)) return a;
  if (a->is_const()) std::swap(a, b);
  if (b->is_const() && a->is(Op::Add) && a->source(1)->is_const()) {
    return fold_add(g, a->source(0), g.index(a->source(1)->int_value() + b->int_value()));
  }
  return known(g, g.add(a, b));
}

UOpRef fold_sub(Graph& g, UOpRef a, UOpRef b) {
  if (a == b) return g.index(0);
  if (b->is_const()) return fold_add(g, a, g.index(-b->int_value()));
  if (a->is(Op::Add) && a->source(0) == b) return a->source(1);  // (b + x) - b
  if (Affine difference = to_affine(g.sub(a, b)); difference.terms.empty()) return g.index(difference.constant);
  return fold_add(g, a, fold_mul(g, b, g.index(-1)));
}

UOpRef fold_mul(Graph& g, UOpRef a, UOpRef b) {
  if (a->is_const() && b->is_const()) return g.index(a->int_value() * b->int_value());
  if (a->is_const()) std::swap(a, b);
  if (is_value(b, 0)) return b;
  if (is_value(b, 1)) return a;
  if (b->is_const() && a->is(Op::Mul) && a->source(1)->is_const()) {
    return fold_mul(g, a->source(0), g.index(a->source(1)->int_value() * b->int_value()));
  }
  return known(g, g.mul(a, b));
}

UOpRef fold_floordiv(Graph& g, UOpRef a, UOpRef b) {
  if (a->is_const() && b->is_const()) return g.index(floor_div(a->int_value(), b->int_value()));
  if (is_value(b, 1)) return a;
  return known(g, g.floordiv(a, b));
}

UOpRef fold_floormod(Graph& g, UOpRef a, UOpRef b) {
  if (is_value(b, 1)) return g.index(0);
  if (a->is_const() && b->is_const() && b->int_value() != 0) {
    return g.index(a->int_value() - floor_div(a->int_value(), b->int_value()) * b->int_value());
  }
  return known(g, g.floormod(a, b));
}

UOpRef fold_and(Graph& g, UOpRef a, UOpRef b) {
  if (a == b || is_value(b, 1)) return a;
  if (is_value(a, 1)) return b;
  if (is_value(a, 0)) return a;
  if (is_value(b, 0)) return b;
  return g.logical_and(a, b);
}

UOpRef fold_lt(Graph& g, UOpRef a, UOpRef b) {
  UOpRef result = g.lt(a, b);
  if (is_single_value(result->bounds)) return g.boolean(result->bounds.min != 0);
  return result;
}

UOpRef num_elements(Graph& g, const Shape& shape) {
  UOpRef count = g.index(1);
  for (UOpRef dim : shape) count = fold_mul(g, count, dim);
  return canonical_length(g, count);
}

const Shape& ShapeCache::of(UOpRef root) {
  auto found = shapes_.find(root);
  if (found != shapes_.end()) return found->second;
  std::vector<UOpRef> stack = {root};  // iterative: graphs may be deep
  while (!stack.empty()) {
    UOpRef node = stack.back();
    if (shapes_.contains(node)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    // Only value sources have shapes; dims are index scalars, whose shape is empty anyway.
    for (UOpRef s : node->sources) {
      if (!shapes_.contains(s)) {
        stack.push_back(s);
        ready = false;
      }
    }
    if (!ready) continue;
    shapes_.emplace(node, derive(node));
    stack.pop_back();
  }
  return shapes_.at(root);
}

Shape ShapeCache::derive(UOpRef node) {
  auto source = [&](std::size_t i) -> const Shape& { return shapes_.at(node->source(i)); };
  auto rest = [&](std::size_t from, std::size_t count) {
    return Shape(node->sources.begin() + from, node->sources.begin() + from + count);
  };
  switch (node->op) {
    case Op::Const:
    case Op::Var:
    case Op::Range:
      return {};
    case Op::Buffer:
    case Op::Iota:
      return rest(0, node->sources.size());
    case Op::Reshape:
    case Op::Expand:
      return rest(1, node->sources.size() - 1);
    case Op::Permute: {
      Shape shape;
      for (std::int64_t axis : node->as<Axes>().axes) shape.push_back(source(0)[axis]);
      return shape;
    }
    case Op::Pad: {
      Shape shape = source(0);
      std::size_t rank = shape.size();
      for (std::size_t i = 0; i < rank; ++i) {
        shape[i] = canonical_length(
            graph_, fold_add(graph_, fold_add(graph_, shape[i], node->source(2 + i)), node->source(2 + rank + i)));
      }
      return shape;
    }
    case Op::Shrink: {
      Shape shape = source(0);
      std::size_t rank = shape.size();
      for (std::size_t i = 0; i < rank; ++i)
        shape[i] = canonical_length(graph_, fold_sub(graph_, node->source(1 + rank + i), node->source(1 + i)));
      return shape;
    }
    case Op::Unfold: {  // windows: (n - dilation*(size-1) - 1) // step + 1
      Shape shape = source(0);
      std::int64_t axis = node->as<Axes>().axes[0];
      UOpRef size = node->source(1), step = node->source(2), dilation = node->source(3);
      UOpRef span =
          fold_add(graph_, fold_mul(graph_, dilation, fold_add(graph_, size, graph_.index(-1))), graph_.index(1));
      shape[axis] = fold_add(graph_, fold_floordiv(graph_, fold_sub(graph_, shape[axis], span), step), graph_.index(1));
      shape[axis] = canonical_length(graph_, shape[axis]);
      shape.push_back(size);
      return shape;
    }
    case Op::Cat: {
      Shape shape = source(0);
      std::int64_t axis = node->as<Axes>().axes[0];
      for (std::size_t i = 1; i < node->sources.size(); ++i)
        shape[axis] = canonical_length(graph_, fold_add(graph_, shape[axis], source(i)[axis]));
      return shape;
    }
    case Op::ReduceAxis: {
      Shape shape = source(0);
      for (std::int64_t axis : node->as<ReduceInfo>().axes) shape[axis] = graph_.index(1);
      return shape;
    }
    case Op::MatMul: {
      Shape shape = source(0);
      shape.back() = source(1).back();
      return shape;
    }
    case Op::Attention:
      return source(3);
    case Op::Blob:
    case Op::Loop:
    case Op::Scatter: {
      const std::size_t values = num_operands(node);
      return rest(values, node->sources.size() - values);
    }
    case Op::Gather: {
      const Shape& data = source(0);
      std::int64_t axis = node->as<Axes>().axes[0];
      Shape shape(data.begin(), data.begin() + axis);
      shape.insert(shape.end(), source(1).begin(), source(1).end());
      shape.insert(shape.end(), data.begin() + axis + 1, data.end());
      return shape;
    }
    default:  // elementwise, Flip, Contiguous: shape of the first source with one
      for (std::size_t i = 0; i < node->sources.size(); ++i) {
        if (!source(i).empty()) return source(i);
      }
      return {};
  }
}

}  // namespace hearth::ir
