// Movement operations at tensor level: two of a kind become one, those that change nothing vanish.
#include <algorithm>

#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

using Axes = std::vector<std::int64_t>;

bool is_zero(UOpRef x) { return x->is_const() && x->int_value() == 0; }
bool is_one(UOpRef x) { return x->is_const() && x->int_value() == 1; }
std::span<const UOpRef> dims_of(UOpRef node) { return node->sources.subspan(1); }

// reshape and expand
UOpRef same_shape(Context& context, UOpRef node, const Match&) {
  return std::ranges::equal(context.shapes.of(node->source(0)), dims_of(node)) ? node->source(0) : nullptr;
}

UOpRef permute_permute(Context& context, UOpRef node, const Match&) {
  const UOpRef inner = node->source(0);
  if (!inner->is(Op::Permute)) return nullptr;
  Axes axes;
  for (std::int64_t axis : node->as<ir::Axes>().axes) axes.push_back(inner->as<ir::Axes>().axes[axis]);
  return context.graph.make(Op::Permute, node->dtype, {inner->source(0)}, ir::Axes{axes});
}

// A permutation that moves only axes of length one is a reshape; one that moves none is nothing.
UOpRef permute_in_order(Context& context, UOpRef node, const Match&) {
  const ir::Shape shape = context.shapes.of(node->source(0));
  std::vector<UOpRef> sources = {node->source(0)};
  std::int64_t last = -1;
  bool identity = true;
  std::int64_t position = 0;
  for (std::int64_t axis : node->as<ir::Axes>().axes) {
    identity &= axis == position++;
    sources.push_back(shape[axis]);
    if (is_one(shape[axis])) continue;
    if (axis < last) return nullptr;
    last = axis;
  }
  return identity ? node->source(0) : context.graph.make(Op::Reshape, node->dtype, sources);
}

UOpRef flip_flip(Context& context, UOpRef node, const Match&) {
  const UOpRef inner = node->source(0);
  if (!inner->is(Op::Flip)) return nullptr;
  Axes a = node->as<ir::Axes>().axes, b = inner->as<ir::Axes>().axes, once;
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(once));
  return context.graph.make(Op::Flip, node->dtype, {inner->source(0)}, ir::Axes{once});
}

// Axes of length one stay the same when flipped.
UOpRef flip_nothing(Context& context, UOpRef node, const Match&) {
  const Axes& axes = node->as<ir::Axes>().axes;
  const ir::Shape& shape = context.shapes.of(node->source(0));
  const bool nothing = std::ranges::all_of(axes, [&](std::int64_t axis) { return is_one(shape[axis]); });
  return nothing ? node->source(0) : nullptr;
}

UOpRef pad_pad(Context& context, UOpRef node, const Match&) {
  const UOpRef inner = node->source(0);
  if (!inner->is(Op::Pad) || inner->source(1) != node->source(1)) return nullptr;
  std::vector<UOpRef> sources = {inner->source(0), node->source(1)};
  for (std::size_t s = 2; s < node->sources.size(); ++s) {
    sources.push_back(ir::fold_add(context.graph, inner->source(s), node->source(s)));
  }
  return context.graph.make(Op::Pad, node->dtype, sources);
}

UOpRef shrink_nothing(Context& context, UOpRef node, const Match&) {
  const ir::Shape& shape = context.shapes.of(node->source(0));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!is_zero(node->source(1 + axis)) || node->source(1 + shape.size() + axis) != shape[axis]) return nullptr;
  }
  return node->source(0);
}

UOpRef shrink_shrink(Context& context, UOpRef node, const Match&) {
  const UOpRef inner = node->source(0);
  if (!inner->is(Op::Shrink)) return nullptr;
  const std::size_t rank = (node->sources.size() - 1) / 2;
  std::vector<UOpRef> sources = {inner->source(0)};
  for (std::size_t s = 1; s < node->sources.size(); ++s) {
    const std::size_t begin = s <= rank ? s : s - rank;
    sources.push_back(ir::fold_add(context.graph, inner->source(begin), node->source(s)));
  }
  return context.graph.make(Op::Shrink, node->dtype, sources);
}

constexpr Rule kMovementRules[] = {
    rule_fn("reshape_same", any(Op::Reshape), same_shape),
    rule("reshape_reshape", kAll, reshape(reshape(x, rest), rest), reshape(x, rest)),
    rule_fn("expand_same", any(Op::Expand), same_shape),
    rule("expand_expand", kAll, expand(expand(x, rest), rest), expand(x, rest)),
    rule_fn("permute_in_order", any(Op::Permute), permute_in_order),
    rule_fn("permute_permute", any(Op::Permute), permute_permute),
    rule_fn("flip_nothing", any(Op::Flip), flip_nothing),
    rule_fn("flip_flip", any(Op::Flip), flip_flip),
    rule("pad_nothing", kAll, fork(Op::Pad, sources(x, y), sources(x, y, repeat(0))), x),
    rule_fn("pad_pad", any(Op::Pad), pad_pad),
    rule_fn("shrink_nothing", any(Op::Shrink), shrink_nothing),
    rule_fn("shrink_shrink", any(Op::Shrink), shrink_shrink),
    rule("contiguous_twice", kAll, contiguous(contiguous(x)), contiguous(x)),
    rule("cast_same", kAll, cast(x), x),
    rule("cat_of_one", kAll, cat(x), x),
};

}  // namespace

std::span<const Rule> movement_rules() { return kMovementRules; }

}  // namespace hearth::rules
