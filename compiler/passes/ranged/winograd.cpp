#include "compiler/passes/ranged/winograd.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/convolution.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/stage_facts.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/ranged/winograd_cost.h"
#include "compiler/passes/ranged/winograd_transform.h"
#include "compiler/passes/report.h"
#include "compiler/schedule/op_cost.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;
using Map = std::vector<std::pair<UOpRef, UOpRef>>;

constexpr int kProducts = kWinogradInputs * kWinogradInputs;
constexpr int kMaxRepeated = 6;  // op_cost of an element of the image, computed 36 / 16 times: scale, bias, ReLU

class Rewriter {
 public:
  Rewriter(ir::Graph& g, UOpRef sink, const target::Target& target) : g_(g), sink_(sink), target_(target) {}

  absl::StatusOr<UOpRef> run() {
    return rewrite_stages(g_, sink_, [this](UOpRef stage, bool is_output) -> absl::StatusOr<UOpRef> {
      invariant_.add(stage, is_output);
      HEARTH_ASSIGN_OR_RETURN(UOpRef made, tiled(stage));
      if (made != stage) invariant_.add_equal(made, stage);
      return made;
    });
  }

 private:
  // A stage without its convolution, or as it is.
  absl::StatusOr<UOpRef> tiled(UOpRef stage) {
    const auto is_invariant = [this](UOpRef buffer) { return invariant_.contains(buffer); };
    std::optional<Convolution> found = find_convolution(g_, StageFacts(stage), kWinogradTaps, is_invariant);
    if (!found) return stage;
    found->image = unpadded(*found);
    if (found->made != stage->sources.back() || !is_summed_innermost(*found) || may_be_empty(*found)) return stage;
    const WinogradUse use = winograd_use(*found, target_);
    if (use.when == WinogradUse::When::Never) return stage;
    ir::ProvenanceScope scope(g_, stage->provenance);
    HEARTH_ASSIGN_OR_RETURN(UOpRef sum, tiled_sum(*found));
    UOpRef tiled = replaced_below(g_, stage, Map{{found->reduce, sum}});
    return use.when == WinogradUse::When::Always ? tiled : either(stage, tiled, *found, use.least_results);
  }

  // The stage with both forms, of which a replay computes one.
  UOpRef either(UOpRef direct, UOpRef tiled, const Convolution& c, std::int64_t least_results) {
    UOpRef results = ir::fold_mul(g_, c.row->source(0), c.column->source(0));
    for (UOpRef other : c.batch) results = ir::fold_mul(g_, other->source(0), results);
    std::vector<UOpRef> sources(direct->sources.begin(), direct->sources.end());
    sources[0] = g_.where(g_.lt(results, g_.index(least_results)), direct->source(0), tiled->source(0));
    ir::StageInfo info = direct->as<ir::StageInfo>();
    info.choice = true;
    return g_.make(Op::Stage, direct->dtype, sources, info);
  }

  // The image without the stage that only pads it: its conditions are few beside a tile's arithmetic.
  UOpRef unpadded(const Convolution& c) {
    UOpRef image = c.image;
    if (!image->is(Op::Load) || !image->source(0)->source(0)->is(Op::Stage)) return image;
    UOpRef index = image->source(0), stage = index->source(0);
    if (stage->as<ir::StageInfo>().forced || index->sources.back() != g_.boolean(true)) return image;
    Map map;
    for (std::size_t i = 1; i < stage->sources.size(); ++i) map.emplace_back(stage->source(i), index->source(i));
    const UOpRef channels = stage->sources.back();
    int cost = 0;
    for (UOpRef x : stage_body(stage)) {
      if (x->is(Op::Reduce) || is_opaque(x) || (is_bool(x->dtype) && contains(free_ranges({x}), channels)))
        return image;
      if (!is_bool(x->dtype)) cost += schedule::op_cost(x);
    }
    if (cost > kMaxRepeated) return image;
    return replaced_below(g_, stage->source(0), map);
  }

  // Vectors run along the summed channels of the image.
  static bool is_summed_innermost(const Convolution& c) {
    const UOpRef roots[] = {c.image};
    for (UOpRef x : nodes_below(roots)) {
      if (!x->is(Op::Index) || !contains(free_ranges({x}), c.summed)) continue;
      const std::size_t last = x->sources.size() - 2;  // the gate is behind it
      for (std::size_t i = 1; i < last; ++i) {
        if (contains(free_ranges({x->source(i)}), c.summed)) return false;
      }
      if (ir::to_affine(x->source(last)).coefficient_of(c.summed) != 1) return false;
    }
    return true;
  }

  UOpRef loop(UOpRef n) { return g_.range(n, g_.fresh_id(), RangeKind::Loop); }
  UOpRef loop_as(UOpRef range) { return loop(range->source(0)); }
  UOpRef tiles(UOpRef range) {
    UOpRef more = ir::fold_add(g_, range->source(0), g_.index(kWinogradOutputs - 1));
    return ir::fold_floordiv(g_, more, g_.index(kWinogradOutputs));
  }
  UOpRef stage(UOpRef value, std::vector<UOpRef> ranges) {
    ranges.insert(ranges.begin(), value);
    return g_.make(Op::Stage, value->dtype, ranges, ir::StageInfo{g_.fresh_id()});
  }
  UOpRef read(UOpRef from, std::vector<UOpRef> at) {
    at.insert(at.begin(), from);
    at.push_back(g_.boolean(true));
    return g_.make(Op::Load, from->dtype, {g_.make(Op::Index, ir::Scalar::Void, at)});
  }
  // The one of `values` that `range` counts.
  UOpRef chosen(UOpRef range, std::span<const UOpRef> values) {
    UOpRef result = values.back();
    for (std::size_t i = values.size() - 1; i-- > 0;)
      result = g_.where(g_.binary(Op::Eq, range, g_.index(static_cast<std::int64_t>(i))), values[i], result);
    return result;
  }

  // A transform of every line, then of every column of what that gives.
  template <int kOut, int kIn>
  std::vector<UOpRef> transformed(const std::vector<UOpRef>& square,
                                  WinogradLine<kOut> (*transform)(ir::Graph&, const WinogradLine<kIn>&)) {
    WinogradLine<kIn> line;
    std::vector<WinogradLine<kOut>> lines;
    for (int column = 0; column < kIn; ++column) {
      for (int i = 0; i < kIn; ++i) line[i] = square[i * kIn + column];
      lines.push_back(transform(g_, line));
    }
    std::vector<UOpRef> result;
    for (int row = 0; row < kOut; ++row) {
      for (int i = 0; i < kIn; ++i) line[i] = lines[i][row];
      for (UOpRef x : transform(g_, line)) result.push_back(x);
    }
    return result;
  }

  absl::StatusOr<std::vector<UOpRef>> simplified(const std::vector<UOpRef>& values) {
    HEARTH_ASSIGN_OR_RETURN(UOpRef all, simplified_below(g_, g_.make(Op::Sink, ir::Scalar::Void, values)));
    return std::vector<UOpRef>(all->sources.begin(), all->sources.end());
  }

  absl::StatusOr<UOpRef> tiled_sum(const Convolution& c) {
    HEARTH_ASSIGN_OR_RETURN(UOpRef filter, filter_stage(c));
    HEARTH_ASSIGN_OR_RETURN(UOpRef input, input_stage(c));
    UOpRef product = product_stage(c, input, filter);
    return result(c, product);
  }

  absl::StatusOr<UOpRef> filter_stage(const Convolution& c) {
    UOpRef xy = loop(g_.index(kProducts)), in = loop_as(c.summed), out = loop_as(c.made);
    std::vector<UOpRef> taps;
    for (int i = 0; i < kWinogradTaps * kWinogradTaps; ++i) {
      const Map map = {{c.window_row, g_.index(i / kWinogradTaps)},
                       {c.window_column, g_.index(i % kWinogradTaps)},
                       {c.summed, in},
                       {c.made, out}};
      taps.push_back(g_.cast(replaced_below(g_, c.weights, map), ir::Scalar::F64));
    }
    HEARTH_ASSIGN_OR_RETURN(taps, simplified(taps));
    UOpRef value = chosen(xy, transformed<kWinogradInputs, kWinogradTaps>(taps, winograd_filter));
    return stage(g_.cast(value, c.weights->dtype), {xy, in, out});
  }

  absl::StatusOr<UOpRef> input_stage(const Convolution& c) {
    UOpRef xy = loop(g_.index(kProducts)), row = loop(tiles(c.row)), column = loop(tiles(c.column)),
           in = loop_as(c.summed);
    std::vector<UOpRef> ranges = {xy}, digits;
    if (is_flat(c)) {
      ranges.push_back(loop(num_tiles(c)));
      digits = digits_of(ranges.back(), lengths(c));
      row = digits[digits.size() - 2], column = digits.back();
    } else {
      for (UOpRef other : c.batch) digits.push_back(loop_as(other));
      digits.insert(digits.end(), {row, column});
      ranges.insert(ranges.end(), digits.begin(), digits.end());
    }
    ranges.push_back(in);
    UOpRef four = g_.index(kWinogradOutputs);
    Map map = {{c.summed, in}, {c.row, ir::fold_mul(g_, row, four)}, {c.column, ir::fold_mul(g_, column, four)}};
    for (std::size_t i = 0; i < c.batch.size(); ++i) map.emplace_back(c.batch[i], digits[i]);
    std::vector<UOpRef> elements;
    for (int i = 0; i < kProducts; ++i) {
      Map at = map;
      at.emplace_back(c.window_row, g_.index(i / kWinogradInputs));
      at.emplace_back(c.window_column, g_.index(i % kWinogradInputs));
      elements.push_back(gated(replaced_below(g_, c.image, at)));
    }
    HEARTH_ASSIGN_OR_RETURN(elements, simplified(elements));
    return stage(chosen(xy, transformed<kWinogradInputs, kWinogradInputs>(elements, winograd_input)), ranges);
  }

  // The last tiles reach beyond the image.
  UOpRef gated(UOpRef element) {
    Map map;
    const UOpRef roots[] = {element};
    for (UOpRef x : nodes_below(roots)) {
      if (!x->is(Op::Index)) continue;
      std::vector<UOpRef> sources(x->sources.begin(), x->sources.end());
      const ir::Shape shape = axes_of(x->source(0));
      for (std::size_t i = 1; i + 1 < sources.size(); ++i) {
        sources.back() = ir::fold_and(g_, sources.back(), ir::fold_lt(g_, sources[i], shape[i - 1]));
      }
      if (sources.back() != x->sources.back()) map.emplace_back(x, g_.with_sources(x, sources));
    }
    return map.empty() ? element : replaced_below(g_, element, map);
  }

  // Tiles along every axis, the batch first.
  std::vector<UOpRef> lengths(const Convolution& c) {
    std::vector<UOpRef> all;
    for (UOpRef other : c.batch) all.push_back(other->source(0));
    all.insert(all.end(), {tiles(c.row), tiles(c.column)});
    return all;
  }
  UOpRef num_tiles(const Convolution& c) {
    UOpRef n = g_.index(1);
    for (UOpRef length : lengths(c)) n = ir::fold_mul(g_, n, length);
    return n;
  }
  // Whether tiles are stored as one axis: where those within the first are not of known lengths, products would have to
  // find the place of each by divisions.
  bool is_flat(const Convolution& c) {
    const std::vector<UOpRef> all = lengths(c);
    return !std::all_of(all.begin() + 1, all.end(), [](UOpRef n) { return n->is_const(); });
  }
  // Places within tiles of no length cannot be computed.
  bool may_be_empty(const Convolution& c) {
    return std::ranges::any_of(lengths(c), [](UOpRef n) { return n->bounds.min < 1; });
  }
  std::vector<UOpRef> digits_of(UOpRef tile, const std::vector<UOpRef>& lengths) {
    UOpRef one = g_.index(1), rest = one;
    for (UOpRef length : lengths) rest = ir::fold_mul(g_, rest, length);
    std::vector<UOpRef> digits;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      UOpRef digit = i == 0 ? tile : ir::fold_floormod(g_, tile, rest);
      rest = one;
      for (std::size_t k = i + 1; k < lengths.size(); ++k) rest = ir::fold_mul(g_, rest, lengths[k]);
      digits.push_back(ir::fold_floordiv(g_, digit, rest));
    }
    return digits;
  }

  UOpRef product_stage(const Convolution& c, UOpRef input, UOpRef filter) {
    UOpRef xy = loop(g_.index(kProducts)), tile = loop(num_tiles(c)), out = loop_as(c.made),
           in = g_.range(c.summed->source(0), g_.fresh_id(), RangeKind::Reduce);
    std::vector<UOpRef> at = {xy};
    if (is_flat(c)) {
      at.push_back(tile);
    } else {
      for (UOpRef digit : digits_of(tile, lengths(c))) at.push_back(digit);
    }
    at.push_back(in);
    UOpRef value = g_.mul(read(input, at), read(filter, {xy, in, out}));
    return stage(g_.make(Op::Reduce, value->dtype, {value, in}, ir::ReduceInfo{ir::ReduceKind::Sum, {}}),
                 {xy, tile, out});
  }

  UOpRef result(const Convolution& c, UOpRef product) {
    UOpRef tile = g_.index(0), four = g_.index(kWinogradOutputs);
    for (UOpRef other : c.batch) tile = ir::fold_add(g_, ir::fold_mul(g_, tile, other->source(0)), other);
    for (UOpRef axis : {c.row, c.column})
      tile = ir::fold_add(g_, ir::fold_mul(g_, tile, tiles(axis)), ir::fold_floordiv(g_, axis, four));
    std::vector<UOpRef> products;
    for (int i = 0; i < kProducts; ++i) products.push_back(read(product, {g_.index(i), tile, c.made}));
    const std::vector<UOpRef> all = transformed<kWinogradOutputs, kWinogradInputs>(products, winograd_output);
    std::vector<UOpRef> rows;
    for (int row = 0; row < kWinogradOutputs; ++row) {
      rows.push_back(
          chosen(ir::fold_floormod(g_, c.column, four),
                 std::span(all).subspan(static_cast<std::size_t>(row) * kWinogradOutputs, kWinogradOutputs)));
    }
    return chosen(ir::fold_floormod(g_, c.row, four), rows);
  }

  ir::Graph& g_;
  UOpRef sink_;
  const target::Target& target_;
  InvariantStages invariant_;
};

}  // namespace

absl::StatusOr<UOpRef> winograd(ir::Graph& graph, UOpRef sink, const target::Target& target) {
  return Rewriter(graph, sink, target).run();
}

}  // namespace hearth::passes
