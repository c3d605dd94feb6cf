#include "compiler/passes/tensor/split_reductions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/divisors.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::Shape;
using ir::UOpRef;

UOpRef reshaped(ir::Graph& g, UOpRef x, const Shape& shape) {
  std::vector<UOpRef> sources = {x};
  sources.insert(sources.end(), shape.begin(), shape.end());
  return g.make(Op::Reshape, x->dtype, sources);
}

struct Cut {
  std::size_t axis;
  std::int64_t parts;
};

// A reduction to one value, of lengths that are known: how many elements, and the first axis that is longer than 1.
struct Whole {
  std::int64_t elements = 1;
  std::size_t first = 0;
};
std::optional<Whole> whole_of(const Shape& shape, const std::vector<std::int64_t>& reduced) {
  Whole whole;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->is_const()) return std::nullopt;
    const std::int64_t n = shape[i]->int_value();
    if (n == 1) continue;
    if (std::ranges::find(reduced, static_cast<std::int64_t>(i)) == reduced.end()) return std::nullopt;
    if (!first) first = i;
    whole.elements *= n;
  }
  if (!first || whole.elements < kCore.elements_worth_parts) return std::nullopt;
  whole.first = *first;
  return whole;
}

// Where the first axis divides into parts for all threads.
std::optional<Cut> cut_of(const Shape& shape, const std::vector<std::int64_t>& reduced, std::int64_t threads) {
  const std::optional<Whole> whole = whole_of(shape, reduced);
  if (!whole) return std::nullopt;
  const std::int64_t parts = ir::largest_divisor(shape[whole->first]->int_value(), kCore.parts_per_thread * threads);
  return parts >= threads ? std::optional(Cut{whole->first, parts}) : std::nullopt;
}

// The parts of a sum of all elements that keep the device busy and leave each invocation of a workgroup two elements.
std::optional<std::int64_t> parts_for_workgroups(const Shape& shape, const std::vector<std::int64_t>& reduced,
                                                 const target::Target& target) {
  const std::optional<Whole> whole = whole_of(shape, reduced);
  if (!whole) return std::nullopt;
  const std::int64_t size = target.max_workgroup();
  const std::int64_t most =
      std::min(kCore.parts_per_thread * target.wanted_invocations() / size, whole->elements / (2 * size));
  const std::int64_t parts = most > 0 ? ir::largest_divisor(whole->elements, most) : 1;
  return parts > 1 ? std::optional(parts) : std::nullopt;
}

// A product of matrices, by the axes of `product`: rows that only one operand has, columns that only the other has.
struct ProductAxes {
  std::int64_t results = 1, rows = 1, columns = 1;
};
std::optional<ProductAxes> product_axes(ir::ShapeCache& shapes, UOpRef product, std::int64_t reduced) {
  while (product->is(Op::Cast)) product = product->source(0);
  if (!product->is(Op::Mul)) return std::nullopt;
  const Shape shape = shapes.of(product);
  std::vector<Shape> operands;
  for (UOpRef x : product->sources) {
    while (x->is(Op::Cast)) x = x->source(0);
    if (!x->is(Op::Expand)) return std::nullopt;
    operands.push_back(shapes.of(x->source(0)));
  }
  ProductAxes axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->is_const()) return std::nullopt;
    const std::int64_t n = shape[i]->int_value();
    if (static_cast<std::int64_t>(i) == reduced || n == 1) continue;
    axes.results *= n;
    const auto has = [&](const Shape& operand) { return operand[i]->is_const() && operand[i]->int_value() == n; };
    if (has(operands[0]) && !has(operands[1])) axes.rows *= n;
    if (has(operands[1]) && !has(operands[0])) axes.columns *= n;
  }
  return axes;
}

// Parts of the reduced axis of a thin product, whose results alone keep too few invocations busy (split-K).
std::optional<std::int64_t> parts_of_product(ir::ShapeCache& shapes, UOpRef node, const target::Target& target) {
  constexpr std::int64_t kResultsOfAnInvocation = 16;  // as tiles have them where there are enough
  constexpr std::int64_t kLeastPart = 512;             // products, which are worth storing a sum and reading it again
  constexpr std::int64_t kLeastParts = 4;              // that are worth another launch
  const auto& info = node->as<ir::ReduceInfo>();
  if (info.kind != ir::ReduceKind::Sum || info.axes.size() != 1) return std::nullopt;
  const std::optional<ProductAxes> axes = product_axes(shapes, node->source(0), info.axes[0]);
  if (!axes || axes->rows < 2 || axes->columns < 2) return std::nullopt;
  const std::int64_t length = shapes.of(node->source(0))[static_cast<std::size_t>(info.axes[0])]->int_value();
  const std::int64_t busy = std::max<std::int64_t>(1, axes->results / kResultsOfAnInvocation);
  std::int64_t parts = 1;
  while (busy * parts * 2 <= target.wanted_invocations() && length / (2 * parts) >= kLeastPart &&
         length % (2 * parts) == 0)
    parts *= 2;
  return parts >= kLeastParts ? std::optional(parts) : std::nullopt;
}

// Elements of a part of an axis of `length` elements: near the root, so that parts and their number are alike, and a
// divisor where one is near.
std::int64_t part_length(UOpRef length, std::int64_t most) {
  const std::int64_t n = length->bounds.max;
  auto part = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  part = std::clamp<std::int64_t>(part, 1, most);
  if (!length->is_const()) return part;
  for (std::int64_t near = part; near <= std::min(2 * part, most); ++near) {
    if (n % near == 0) return near;
  }
  return part;
}

class ReductionSplitter {
 public:
  ReductionSplitter(ir::Graph& g, const target::Target& target)
      : g_(g), shapes_(g), target_(target), most_(target.max_reduction_rounds()) {}

  // `node`, a reduction, of `x` instead of its source; null where it stays in one piece.
  UOpRef split(UOpRef node, UOpRef x) {
    const Shape shape = shapes_.of(node->source(0));
    if (most_ > 0 && is_too_long(node, shape)) return split_rounds(node, x);
    const std::vector<std::int64_t>& axes = node->as<ir::ReduceInfo>().axes;
    if (target_.unit() == target::Unit::Invocation) {
      if (const auto parts = parts_for_workgroups(shape, axes, target_)) return split_all(*parts, node, x);
      const std::optional<std::int64_t> parts = parts_of_product(shapes_, node, target_);
      return parts ? split_product(*parts, node, x) : nullptr;
    }
    std::optional<Cut> cut;
    if (target_.threads() > 1) cut = cut_of(shape, axes, target_.threads());
    return cut ? split_at(*cut, node, x) : nullptr;
  }

 private:
  static bool is_narrow(UOpRef x) { return is_float(x->dtype) && byte_size(x->dtype) < 4; }

  UOpRef split_at(const Cut& cut, UOpRef node, UOpRef x) {
    const Shape shape = shapes_.of(node->source(0));
    const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
    if (is_narrow(x)) x = g_.cast(x, ir::Scalar::F32);
    Shape divided(shape.begin(), shape.end());
    divided[cut.axis] = g_.index(shape[cut.axis]->int_value() / cut.parts);
    divided.insert(divided.begin() + static_cast<std::ptrdiff_t>(cut.axis), g_.index(cut.parts));
    const auto parts_axis = static_cast<std::int64_t>(cut.axis);
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(divided.size()); ++i) {
      if (i != parts_axis) others.push_back(i);
    }
    const UOpRef parts = reduced(reshaped(g_, x, divided), kind, others);
    UOpRef all = g_.make(Op::ReduceAxis, parts->dtype, {parts}, ir::ReduceInfo{kind, {parts_axis}});
    return g_.cast(reshaped(g_, all, Shape(shape.size(), g_.index(1))), node->dtype);
  }

  UOpRef split_all(std::int64_t parts, UOpRef node, UOpRef x) {
    const Shape shape = shapes_.of(node->source(0));
    const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
    if (is_narrow(x)) x = g_.cast(x, ir::Scalar::F32);
    std::int64_t elements = 1;
    for (UOpRef length : shape) elements *= length->int_value();
    x = reduced(reshaped(g_, x, {g_.index(parts), g_.index(elements / parts)}), kind, {1});
    x = g_.make(Op::ReduceAxis, x->dtype, {x}, ir::ReduceInfo{kind, {0}});
    return g_.cast(reshaped(g_, x, Shape(shape.size(), g_.index(1))), node->dtype);
  }

  // The parts are the first axis of what is stored, so that a part's results lie side by side.
  UOpRef split_product(std::int64_t parts, UOpRef node, UOpRef x) {
    const Shape shape = shapes_.of(node->source(0));
    const auto& info = node->as<ir::ReduceInfo>();
    const auto axis = static_cast<std::size_t>(info.axes[0]);
    if (is_narrow(x)) x = g_.cast(x, ir::Scalar::F32);
    Shape divided(shape.begin(), shape.end());
    divided[axis] = g_.index(shape[axis]->int_value() / parts);
    divided.insert(divided.begin() + static_cast<std::ptrdiff_t>(axis), g_.index(parts));
    std::vector<std::int64_t> order = {static_cast<std::int64_t>(axis)};
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(divided.size()); ++i) {
      if (i != order[0]) order.push_back(i);
    }
    x = g_.make(Op::Permute, x->dtype, {reshaped(g_, x, divided)}, ir::Axes{order});
    // Behind the parts, the axes that were in front of the reduced one keep their places.
    x = reduced(x, info.kind, {static_cast<std::int64_t>(axis) + 1});
    x = g_.make(Op::ReduceAxis, x->dtype, {x}, ir::ReduceInfo{info.kind, {0}});
    Shape result(shape.begin(), shape.end());
    result[axis] = g_.index(1);
    return g_.cast(reshaped(g_, x, result), node->dtype);
  }

  UOpRef reduced(UOpRef x, ir::ReduceKind kind, const std::vector<std::int64_t>& axes) {
    UOpRef result = g_.make(Op::ReduceAxis, x->dtype, {x}, ir::ReduceInfo{kind, axes});
    return g_.make(Op::Contiguous, result->dtype, {result});
  }

  // x with `axis` as two, [parts, part], and the identity behind its end.
  UOpRef in_parts(UOpRef x, std::size_t axis, std::int64_t part, ir::ReduceKind kind) {
    const Shape shape = shapes_.of(x);
    UOpRef length = shape[axis];
    UOpRef parts = g_.floordiv(ir::fold_add(g_, length, g_.index(part - 1)), g_.index(part));
    if (length->is_const()) parts = g_.index((length->int_value() + part - 1) / part);
    UOpRef missing = ir::fold_sub(g_, ir::fold_mul(g_, parts, g_.index(part)), length);
    if (missing != g_.index(0)) {
      std::vector<UOpRef> sources = {x, reduce_identity(g_, kind, x->dtype)};
      sources.insert(sources.end(), shape.size(), g_.index(0));
      for (std::size_t i = 0; i < shape.size(); ++i) sources.push_back(i == axis ? missing : g_.index(0));
      x = g_.make(Op::Pad, x->dtype, sources);
    }
    Shape divided(shape.begin(), shape.end());
    divided[axis] = g_.index(part);
    divided.insert(divided.begin() + static_cast<std::ptrdiff_t>(axis), parts);
    return reshaped(g_, x, divided);
  }

  // The reduction of x along `axes`, no stage of which takes more than `most_` rounds.
  UOpRef in_stages(UOpRef x, ir::ReduceKind kind, const std::vector<std::int64_t>& axes) {
    for (;;) {
      const Shape shape = shapes_.of(x);
      // As many of the last axes as fit in one stage.
      std::int64_t rounds = 1;
      std::size_t first = axes.size();
      while (first > 0 && rounds <= most_ / std::max<std::int64_t>(1, shape[axes[first - 1]]->bounds.max)) {
        rounds *= std::max<std::int64_t>(1, shape[axes[first - 1]]->bounds.max);
        --first;
      }
      // Stored, too: in a kernel that goes on along the reduced axis one invocation would do the whole of it.
      if (first == 0) return reduced(x, kind, axes);
      const std::vector<std::int64_t> fitting(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
      if (rounds > 1) {
        x = reduced(x, kind, fitting);
        continue;
      }
      const auto axis = static_cast<std::size_t>(axes[first - 1]);
      const std::int64_t part = part_length(shape[axis], most_);
      x = reduced(in_parts(x, axis, part, kind), kind, {static_cast<std::int64_t>(axis) + 1});
      Shape joined = shapes_.of(x);
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
      x = reshaped(g_, x, joined);
    }
  }

  bool is_too_long(UOpRef node, const Shape& shape) const {
    __int128 rounds = 1;
    for (std::int64_t axis : node->as<ir::ReduceInfo>().axes) {
      rounds *= std::max<std::int64_t>(1, shape[axis]->bounds.max);
      if (rounds > most_) return true;
    }
    return false;
  }

  UOpRef split_rounds(UOpRef node, UOpRef x) {
    if (is_narrow(x)) x = g_.cast(x, ir::Scalar::F32);
    std::vector<std::int64_t> axes = node->as<ir::ReduceInfo>().axes;
    std::ranges::sort(axes);
    return g_.cast(in_stages(x, node->as<ir::ReduceInfo>().kind, axes), node->dtype);
  }

  ir::Graph& g_;
  ir::ShapeCache shapes_;
  const target::Target& target_;
  const std::int64_t most_;  // rounds of one stage; 0: any number
};

}  // namespace

UOpRef split_reductions(ir::Graph& g, UOpRef sink, const target::Target& target) {
  const bool is_divided = target.unit() == target::Unit::Invocation || target.threads() > 1;
  if (!is_divided && target.max_reduction_rounds() == 0) return sink;
  ReductionSplitter splitter(g, target);
  return rebuild(g, sink, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    return node->is(Op::ReduceAxis) ? splitter.split(node, sources[0]) : nullptr;
  });
}

}  // namespace hearth::passes
