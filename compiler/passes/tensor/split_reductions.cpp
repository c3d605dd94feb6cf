#include "compiler/passes/tensor/split_reductions.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/shape.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

constexpr std::int64_t kMinElements = 1 << 18;  // a MiB of f32: what is faster by more than a fork costs
constexpr std::int64_t kPartsPerThread = 8;     // so that a slower core gets fewer

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
  if (!first || elements < kMinElements) return std::nullopt;
  const std::int64_t n = shape[*first]->int_value();
  for (std::int64_t parts = kPartsPerThread * threads; parts >= threads; --parts) {
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

}  // namespace

UOpRef split_reductions(ir::Graph& g, UOpRef sink, const target::Target& target) {
  const std::int64_t threads = target.threads();
  if (threads < 2) return sink;
  ir::ShapeCache shapes(g);
  std::unordered_map<UOpRef, UOpRef> done;
  std::vector<UOpRef> sources;
  for (UOpRef node : toposort(sink)) {
    ir::ProvenanceScope scope(g, node->provenance);
    sources.clear();
    for (UOpRef s : node->sources) sources.push_back(done.at(s));
    std::optional<Cut> cut;
    if (node->is(Op::ReduceAxis)) cut = cut_of(shapes.of(node->source(0)), node->as<ir::ReduceInfo>().axes, threads);
    done[node] = cut ? split(g, node, sources[0], shapes.of(node->source(0)), *cut) : g.with_sources(node, sources);
  }
  return done.at(sink);
}

}  // namespace hearth::passes
