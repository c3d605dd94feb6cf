#include "compiler/passes/ranged/rangeify.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/realize_map.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;
using Index = std::vector<UOpRef>;

class Rangeify {
 public:
  Rangeify(ir::Graph& g, UOpRef sink) : g_(g), shapes_(g), outputs_(sink->sources) {}

  absl::StatusOr<UOpRef> run() {
    std::vector<UOpRef> bases;
    for (UOpRef output : outputs_) {
      while (output->is(Op::Reshape)) output = output->source(0);
      bases.push_back(output);
    }
    realize_ = realize_map(shapes_, bases);
    for (UOpRef base : bases) realize_[base] = Realize::Forced;
    for (UOpRef node : toposort(bases)) {
      auto found = realize_.find(node);
      if (found == realize_.end() || found->second == Realize::No) continue;
      HEARTH_ASSIGN_OR_RETURN(auto stage, make_stage(node, found->second == Realize::Forced));
      stages_.emplace(node, stage);
      stage_node_.emplace(stage, node);
    }
    std::vector<UOpRef> roots;
    absl::flat_hash_set<UOpRef> taken;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      UOpRef stage = stages_.at(bases[i]);
      // A buffer of its own for every output, also when two outputs name one value.
      if (!taken.insert(stage).second) {
        HEARTH_ASSIGN_OR_RETURN(auto copy, make_stage(bases[i], true, stage));
        stage = copy;
      }
      roots.push_back(stage);
    }
    return g_.make(Op::Sink, ir::Scalar::Void, roots);
  }

 private:
  struct Key {
    UOpRef node;
    Index index;
    UOpRef gate;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      std::size_t h = k.node->id * 0x9e3779b97f4a7c15ULL + k.gate->id;
      for (UOpRef i : k.index) h = (h ^ i->id) * 0xff51afd7ed558ccdULL + (h >> 29);
      return h;
    }
  };

  // Its length is simple from the start: where a gate is simplified before the rest, its ranges must stay the nodes
  // that stages and reductions close.
  absl::StatusOr<UOpRef> range_over(UOpRef length, ir::RangeKind kind) {
    HEARTH_ASSIGN_OR_RETURN(auto simple, rules::simplify(g_, length));
    return g_.range(simple, g_.fresh_id(), kind);
  }

  absl::StatusOr<UOpRef> make_stage(UOpRef node, bool forced, UOpRef copied = nullptr) {
    ir::ProvenanceScope scope(g_, node->provenance);
    Index index;
    std::vector<UOpRef> sources = {nullptr};
    for (UOpRef dim : shapes_.of(node)) {
      if (dim == g_.index(1)) {
        index.push_back(g_.index(0));
      } else {
        HEARTH_ASSIGN_OR_RETURN(auto range, range_over(dim, ir::RangeKind::Loop));
        index.push_back(range);
        sources.push_back(range);
      }
    }
    HEARTH_ASSIGN_OR_RETURN(auto value,
                            copied ? read(copied, index, g_.boolean(true)) : compute(node, index, g_.boolean(true)));
    sources[0] = value;
    return g_.make(Op::Stage, node->dtype, sources, ir::StageInfo{g_.fresh_id(), forced});
  }

  UOpRef read_index(UOpRef buffer, const Index& index, UOpRef gate) {
    std::vector<UOpRef> sources = {buffer};
    sources.insert(sources.end(), index.begin(), index.end());
    sources.push_back(gate);
    return g_.make(Op::Load, buffer->dtype, {g_.make(Op::Index, ir::Scalar::Void, sources)});
  }
  // A stage has no axis for a dim of length 1.
  absl::StatusOr<UOpRef> read(UOpRef stage, const Index& index, UOpRef gate) {
    Index kept;
    const Shape& shape = shapes_.of(stage_node_.at(stage));
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (shape[i] != g_.index(1)) kept.push_back(index[i]);
    }
    return read_index(stage, kept, gate);
  }

  // Value of `node` at `index`, reading stages that exist. Recursion is bounded by realize_map's chain limit.
  absl::StatusOr<UOpRef> lower(UOpRef node, const Index& index, UOpRef gate) {
    if (auto found = stages_.find(node); found != stages_.end()) return read(found->second, index, gate);
    Key key{node, index, gate};
    if (auto found = memo_.find(key); found != memo_.end()) return found->second;
    auto value = compute(node, index, gate);
    if (value.ok()) memo_.emplace(std::move(key), *value);
    return value;
  }

  absl::StatusOr<UOpRef> compute(UOpRef node, const Index& index, UOpRef gate) {
    ir::ProvenanceScope scope(g_, node->provenance);
    switch (node->op) {
      case Op::Const:
        return node;
      case Op::Buffer:
        return read_index(node, index, gate);
      case Op::Iota:
        return g_.cast(index[node->as<ir::Axes>().axes[0]], node->dtype);
      case Op::Contiguous:
        return lower(node->source(0), index, gate);
      case Op::Cat:
        return compute_cat(node, index, gate);
      case Op::Gather:
        return compute_gather(node, index, gate);
      case Op::ReduceAxis:
        return compute_reduce(node, index, gate);
      case Op::Blob:
      case Op::Loop:
      case Op::Scatter:
        return compute_opaque(node);
      default:
        break;
    }
    if (ir::op_class(node->op) == ir::OpClass::Movement) {
      HEARTH_ASSIGN_OR_RETURN(auto at, source_index(shapes_, node, index));
      if (!at.inside) return lower(node->source(0), at.index, gate);
      HEARTH_ASSIGN_OR_RETURN(auto inner_gate, rules::simplify(g_, ir::fold_and(g_, gate, at.inside)));
      HEARTH_ASSIGN_OR_RETURN(auto value, lower(node->source(0), at.index, inner_gate));
      return g_.where(at.inside, value, node->source(1));
    }
    std::vector<UOpRef> sources;
    for (UOpRef s : node->sources) {
      HEARTH_ASSIGN_OR_RETURN(auto value, lower(s, shapes_.of(s).empty() ? Index{} : index, gate));
      sources.push_back(value);
    }
    return g_.with_sources(node, sources);
  }

  absl::StatusOr<UOpRef> compute_cat(UOpRef node, const Index& index, UOpRef gate) {
    std::int64_t axis = node->as<ir::Axes>().axes[0];
    UOpRef begin = g_.index(0);
    std::vector<std::pair<UOpRef, UOpRef>> parts;  // value, "position is before this part's end"
    for (UOpRef s : node->sources) {
      UOpRef end = ir::fold_add(g_, begin, shapes_.of(s)[axis]);
      Index at = index;
      at[axis] = ir::fold_sub(g_, index[axis], begin);
      UOpRef before_end = ir::fold_lt(g_, index[axis], end);
      UOpRef inside =
          begin == g_.index(0)
              ? before_end
              : ir::fold_and(g_, ir::fold_lt(g_, ir::fold_add(g_, begin, g_.index(-1)), index[axis]), before_end);
      HEARTH_ASSIGN_OR_RETURN(auto value, lower(s, at, ir::fold_and(g_, gate, inside)));
      parts.emplace_back(value, before_end);
      begin = end;
    }
    UOpRef result = parts.back().first;
    for (std::size_t i = parts.size() - 1; i-- > 0;) result = g_.where(parts[i].second, parts[i].first, result);
    return result;
  }

  absl::StatusOr<UOpRef> compute_gather(UOpRef node, const Index& index, UOpRef gate) {
    UOpRef data = node->source(0), indices = node->source(1);
    std::int64_t axis = node->as<ir::Axes>().axes[0];
    std::size_t index_rank = shapes_.of(indices).size();
    Index at(index.begin() + axis, index.begin() + axis + index_rank);
    HEARTH_ASSIGN_OR_RETURN(auto position, lower(indices, at, gate));
    UOpRef length = shapes_.of(data)[axis];
    UOpRef p = as_index(g_, position);
    if (!is_unsigned_int(indices->dtype)) p = g_.where(g_.lt(p, g_.index(0)), g_.add(p, length), p);
    UOpRef last = ir::fold_add(g_, length, g_.index(-1));
    p = g_.binary(Op::Max, g_.binary(Op::Min, p, last), g_.index(0));
    Index data_index(index.begin(), index.begin() + axis);
    data_index.push_back(p);
    data_index.insert(data_index.end(), index.begin() + axis + index_rank, index.end());
    return lower(data, data_index, ir::fold_and(g_, gate, ir::fold_lt(g_, g_.index(0), length)));
  }

  // Reads the first element of each operand, which stands for all of it: every operand is a buffer or a stage.
  absl::StatusOr<UOpRef> compute_opaque(UOpRef node) {
    std::vector<UOpRef> values;
    for (std::size_t i = 0; i < num_operands(node); ++i) {
      UOpRef operand = stored_operand(node->source(i));
      HEARTH_ASSIGN_OR_RETURN(auto value,
                              lower(operand, Index(shapes_.of(operand).size(), g_.index(0)), g_.boolean(true)));
      values.push_back(value);
    }
    if (!node->is(Op::Scatter)) return g_.make(node->op, node->dtype, values, node->payload);
    const Shape& shape = shapes_.of(node);
    ir::ScatterInfo info = node->as<ir::ScatterInfo>();
    info.row_axes = static_cast<std::uint32_t>(
        std::count_if(shape.begin() + 1, shape.end(), [&](UOpRef dim) { return dim != g_.index(1); }));
    return g_.make(node->op, node->dtype, values, info);
  }

  absl::StatusOr<UOpRef> compute_reduce(UOpRef node, const Index& index, UOpRef gate) {
    const ir::ReduceInfo& info = node->as<ir::ReduceInfo>();
    UOpRef x = node->source(0);
    const Shape shape = shapes_.of(x);
    Index at = index;
    std::vector<UOpRef> sources = {nullptr};
    for (std::int64_t axis : info.axes) {
      if (shape[axis] == g_.index(1)) {
        at[axis] = g_.index(0);
      } else {
        HEARTH_ASSIGN_OR_RETURN(auto range, range_over(shape[axis], ir::RangeKind::Reduce));
        at[axis] = range;
        sources.push_back(range);
      }
    }
    auto value = lower(x, at, gate);
    if (!value.ok() || sources.size() == 1) return value;
    // Narrow floats accumulate in f32: one rounding at the end.
    bool narrow = is_float(x->dtype) && byte_size(x->dtype) < 4;
    sources[0] = narrow ? g_.cast(*value, ir::Scalar::F32) : *value;
    UOpRef result = g_.make(Op::Reduce, sources[0]->dtype, sources, ir::ReduceInfo{info.kind, {}});
    const bool may_be_empty =
        std::any_of(sources.begin() + 1, sources.end(), [](UOpRef range) { return range->source(0)->bounds.min < 1; });
    if (narrow && may_be_empty && (info.kind == ir::ReduceKind::Max || info.kind == ir::ReduceKind::Min)) {
      // The identity of f32 is an infinity, which f8e4m3 lacks.
      const double identity = reduce_identity(g_, info.kind, x->dtype)->float_value();
      if (!std::isinf(identity)) result = combine(g_, info.kind, result, g_.constant(result->dtype, identity));
    }
    return g_.cast(result, node->dtype);
  }

  ir::Graph& g_;
  ir::ShapeCache shapes_;
  std::span<const UOpRef> outputs_;
  RealizeMap realize_;
  absl::flat_hash_map<UOpRef, UOpRef> stages_;
  absl::flat_hash_map<UOpRef, UOpRef> stage_node_;
  absl::flat_hash_map<Key, UOpRef, KeyHash> memo_;
};

}  // namespace

absl::StatusOr<UOpRef> rangeify(ir::Graph& graph, UOpRef sink) { return Rangeify(graph, sink).run(); }

}  // namespace hearth::passes
