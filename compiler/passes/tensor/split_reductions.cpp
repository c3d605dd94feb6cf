#include "compiler/passes/tensor/split_reductions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

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

// The first axis that is longer than 1, if all such are reduced and it divides into parts for all threads.
std::optional<Cut> cut_of(const Shape& shape, const std::vector<std::int64_t>& reduced, std::int64_t threads) {
  std::int64_t elements = 1;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i]->is_const()) return std::nullopt;
    const std::int64_t n = shape[i]->int_value();
    if (n == 1) continue;
    if (std::ranges::find(reduced, static_cast<std::int64_t>(i)) == reduced.end()) return std::nullopt;
    if (!first) first = i;
    elements *= n;
  }
  if (!first || elements < kCore.elements_worth_parts) return std::nullopt;
  const std::int64_t n = shape[*first]->int_value();
  for (std::int64_t parts = kCore.parts_per_thread * threads; parts >= threads; --parts) {
    if (n % parts == 0) return Cut{*first, parts};
  }
  return std::nullopt;
}

UOpRef split(ir::Graph& g, UOpRef node, UOpRef x, const Shape& shape, const Cut& cut) {
  const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
  const bool narrow = is_float(x->dtype) && byte_size(x->dtype) < 4;
  if (narrow) x = g.cast(x, ir::Scalar::F32);
  Shape divided(shape.begin(), shape.end());
  divided[cut.axis] = g.index(shape[cut.axis]->int_value() / cut.parts);
  divided.insert(divided.begin() + static_cast<std::ptrdiff_t>(cut.axis), g.index(cut.parts));
  const auto parts_axis = static_cast<std::int64_t>(cut.axis);
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(divided.size()); ++i) {
    if (i != parts_axis) others.push_back(i);
  }
  UOpRef parts = g.make(Op::ReduceAxis, x->dtype, {reshaped(g, x, divided)}, ir::ReduceInfo{kind, others});
  parts = g.make(Op::Contiguous, parts->dtype, {parts});
  UOpRef all = g.make(Op::ReduceAxis, parts->dtype, {parts}, ir::ReduceInfo{kind, {parts_axis}});
  return g.cast(reshaped(g, all, Shape(shape.size(), g.index(1))), node->dtype);
}

UOpRef reduced(ir::Graph& g, UOpRef x, ir::ReduceKind kind, const std::vector<std::int64_t>& axes) {
  UOpRef result = g.make(Op::ReduceAxis, x->dtype, {x}, ir::ReduceInfo{kind, axes});
  return g.make(Op::Contiguous, result->dtype, {result});
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

// x with `axis` as two, [parts, part], and the identity behind its end.
UOpRef in_parts(ir::Graph& g, UOpRef x, const Shape& shape, std::size_t axis, std::int64_t part, ir::ReduceKind kind) {
  UOpRef length = shape[axis];
  UOpRef parts = g.floordiv(ir::fold_add(g, length, g.index(part - 1)), g.index(part));
  if (length->is_const()) parts = g.index((length->int_value() + part - 1) / part);
  UOpRef missing = ir::fold_sub(g, ir::fold_mul(g, parts, g.index(part)), length);
  if (missing != g.index(0)) {
    std::vector<UOpRef> sources = {x, reduce_identity(g, kind, x->dtype)};
    sources.insert(sources.end(), shape.size(), g.index(0));
    for (std::size_t i = 0; i < shape.size(); ++i) sources.push_back(i == axis ? missing : g.index(0));
    x = g.make(Op::Pad, x->dtype, sources);
  }
  Shape divided(shape.begin(), shape.end());
  divided[axis] = g.index(part);
  divided.insert(divided.begin() + static_cast<std::ptrdiff_t>(axis), parts);
  return reshaped(g, x, divided);
}

// The reduction of x along `axes`, no stage of which takes more than `most` rounds.
UOpRef in_stages(ir::Graph& g, ir::ShapeCache& shapes, UOpRef x, ir::ReduceKind kind, std::vector<std::int64_t> axes,
                 std::int64_t most) {
  for (;;) {
    const Shape shape = shapes.of(x);
    // As many of the last axes as fit in one stage.
    std::int64_t rounds = 1;
    std::size_t first = axes.size();
    while (first > 0 && rounds <= most / std::max<std::int64_t>(1, shape[axes[first - 1]]->bounds.max)) {
      rounds *= std::max<std::int64_t>(1, shape[axes[first - 1]]->bounds.max);
      --first;
    }
    // Stored, too: in a kernel that goes on along the reduced axis one invocation would do the whole of it.
    if (first == 0) return reduced(g, x, kind, axes);
    const std::vector<std::int64_t> fitting(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
    if (rounds > 1) {
      x = reduced(g, x, kind, fitting);
      continue;
    }
    const auto axis = static_cast<std::size_t>(axes[first - 1]);
    const std::int64_t part = part_length(shape[axis], most);
    x = reduced(g, in_parts(g, x, shape, axis, part, kind), kind, {static_cast<std::int64_t>(axis) + 1});
    Shape joined = shapes.of(x);
    joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    x = reshaped(g, x, joined);
  }
}

bool is_too_long(UOpRef node, const Shape& shape, std::int64_t most) {
  __int128 rounds = 1;
  for (std::int64_t axis : node->as<ir::ReduceInfo>().axes) {
    rounds *= std::max<std::int64_t>(1, shape[axis]->bounds.max);
    if (rounds > most) return true;
  }
  return false;
}

UOpRef split_rounds(ir::Graph& g, ir::ShapeCache& shapes, UOpRef node, UOpRef x, std::int64_t most) {
  const bool narrow = is_float(x->dtype) && byte_size(x->dtype) < 4;
  if (narrow) x = g.cast(x, ir::Scalar::F32);
  std::vector<std::int64_t> axes = node->as<ir::ReduceInfo>().axes;
  std::ranges::sort(axes);
  return g.cast(in_stages(g, shapes, x, node->as<ir::ReduceInfo>().kind, axes, most), node->dtype);
}

}  // namespace

UOpRef split_reductions(ir::Graph& g, UOpRef sink, const target::Target& target) {
  const std::int64_t threads = target.threads(), most = target.max_reduction_rounds();
  if (threads < 2 && most == 0) return sink;
  ir::ShapeCache shapes(g);
  std::unordered_map<UOpRef, UOpRef> done;
  std::vector<UOpRef> sources;
  for (UOpRef node : toposort(sink)) {
    ir::ProvenanceScope scope(g, node->provenance);
    sources.clear();
    for (UOpRef s : node->sources) sources.push_back(done.at(s));
    if (most > 0 && node->is(Op::ReduceAxis) && is_too_long(node, shapes.of(node->source(0)), most)) {
      done[node] = split_rounds(g, shapes, node, sources[0], most);
      continue;
    }
    std::optional<Cut> cut;
    if (threads > 1 && node->is(Op::ReduceAxis))
      cut = cut_of(shapes.of(node->source(0)), node->as<ir::ReduceInfo>().axes, threads);
    done[node] = cut ? split(g, node, sources[0], shapes.of(node->source(0)), *cut) : g.with_sources(node, sources);
  }
  return done.at(sink);
}

}  // namespace hearth::passes
