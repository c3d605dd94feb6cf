#include "compiler/passes/ranged/keep_scores.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/compute_at.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/schedule/kept_rows.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::ReduceKind;
using ir::UOpRef;

constexpr std::int64_t kLeastRows = 4;  // of a workgroup where there are more: operands are read again for each block
constexpr std::int64_t kCopies = 2;     // of a row: scores and exponentials

bool is_sum(UOpRef x) { return x->is(Op::Reduce) && x->as<ir::ReduceInfo>().kind == ReduceKind::Sum; }

class KeepScores {
 public:
  KeepScores(ir::Graph& g, UOpRef sink, const target::Target& target)
      : g_(g), sink_(sink), target_(target), invariant_(sink), outputs_(sink->sources.begin(), sink->sources.end()) {}

  UOpRef run() {
    const std::vector<UOpRef> stages = stages_in_order(sink_);
    for (UOpRef stage : stages) {
      for (UOpRef x : stage_body(stage)) {
        if (x->is(Op::Index) && x->source(0)->is(Op::Stage)) uses_[x->source(0)].push_back({x, stage});
      }
    }
    for (UOpRef stage : stages) {
      if (stage->as<ir::StageInfo>().kept) return sink_;
    }
    std::vector<std::pair<UOpRef, UOpRef>> map;
    for (UOpRef stage : stages) {
      if (UOpRef whole = attention(stage)) map.emplace_back(stage, whole);
    }
    return map.empty() ? sink_ : substitute(g_, sink_, map);
  }

 private:
  struct Use {
    UOpRef index, reader;
  };

  // Read by one other alone, at rows of its own loops; these, nothing otherwise.
  std::optional<std::vector<UOpRef>> rows_of(UOpRef stage, UOpRef reader) const {
    const auto found = uses_.find(stage);
    const auto& info = stage->as<ir::StageInfo>();
    if (found == uses_.end() || outputs_.contains(stage) || info.forced || info.choice || invariant_.contains(stage) ||
        stage->dtype != ir::Scalar::F32)
      return std::nullopt;
    std::vector<UOpRef> indices;
    for (const Use& use : found->second) {
      if (use.reader != reader || !use.index->sources.back()->is_const()) return std::nullopt;
      indices.push_back(use.index);
    }
    return shared_loops(stage, reader, indices);
  }

  // What divides `value`: x / y, x * (1 / y). The x in `divided`; null: nothing does.
  static UOpRef divisor_of(UOpRef value, UOpRef& divided) {
    if (value->is(Op::Div)) return divided = value->source(0), value->source(1);
    if (!value->is(Op::Mul)) return nullptr;
    for (const std::size_t side : {0, 1}) {
      UOpRef inverse = value->source(side);
      divided = value->source(1 - side);
      if (inverse->is(Op::Recip)) return inverse->source(0);
      if (inverse->is(Op::Div) && inverse->source(0)->is_const() && inverse->source(0)->as<ir::ConstValue>().f == 1)
        return inverse->source(1);
    }
    return nullptr;
  }

  // e / sum(e) of a stage, over its last axis: the e. Null: it is another one.
  UOpRef exponentials(UOpRef stage) {
    UOpRef e = nullptr, sum = divisor_of(stage->source(0), e), axis = stage->sources.back();
    if (!sum || !is_sum(sum) || sum->sources.size() != 2 || sum->source(1)->source(0) != axis->source(0))
      return nullptr;
    const std::pair<UOpRef, UOpRef> to_axis[] = {{sum->source(1), axis}};
    return replaced_below(g_, sum->source(0), to_axis) == e ? e : nullptr;
  }

  // The stage of products with a softmax, as it computes all of them; null where it is none, or it does not fit.
  UOpRef attention(UOpRef products) {
    UOpRef sum = products->source(0);
    while (sum->is(Op::Cast)) sum = sum->source(0);
    if (!is_sum(sum) || sum->sources.size() != 2 || !sum->source(0)->is(Op::Mul)) return nullptr;
    for (const std::size_t side : {0, 1}) {
      UOpRef weight = sum->source(0)->source(side);
      if (!weight->is(Op::Load) || weight->sources.size() > 1 || !weight->source(0)->source(0)->is(Op::Stage)) continue;
      UOpRef softmax = weight->source(0)->source(0), e = exponentials(softmax);
      if (!e || weight->source(0)->sources[weight->source(0)->sources.size() - 2] != sum->source(1)) continue;
      UOpRef scores = only_stage_below(softmax);
      if (scores && fits(scores, softmax, products, sum->source(0)->source(1 - side)))
        return with_kept(scores, softmax, e, products, sum, weight, side);
    }
    return nullptr;
  }

  UOpRef only_stage_below(UOpRef softmax) const {
    UOpRef found = nullptr;
    for (UOpRef x : stage_body(softmax)) {
      if (!x->is(Op::Index) || !x->source(0)->is(Op::Stage) || x->source(0) == found) continue;
      // A mask that is stored is read where it lies.
      if (!has_sum_of_products(stage_body(x->source(0)))) continue;
      if (found) return nullptr;
      found = x->source(0);
    }
    return found;
  }

  bool fits(UOpRef scores, UOpRef softmax, UOpRef products, UOpRef values) const {
    const auto of_products = rows_of(softmax, products), of_softmax = rows_of(scores, softmax);
    if (!of_products || !of_softmax || of_products->empty()) return false;
    // The same rows of both, and one more axis of the results.
    const std::vector<UOpRef> own(softmax->sources.begin() + 1, softmax->sources.end() - 1);
    if (*of_softmax != own || products->sources.size() != of_products->size() + 2) return false;
    UOpRef rows = of_products->back();
    schedule::RowsToKeep of = {.elements = scores->sources.back()->source(0)->bounds.max, .copies = kCopies};
    if (rows->source(0)->is_const()) of.rows = rows->source(0)->int_value();
    for (UOpRef loop : *of_products) of.all_rows *= std::max<std::int64_t>(1, loop->source(0)->bounds.max);
    // What all rows read alike is read again for each block of them.
    const std::vector<UOpRef> moves = free_ranges({values});
    const bool is_reread = rows->source(0)->bounds.max > 1 && std::ranges::find(moves, rows) == moves.end();
    const std::int64_t least = is_reread ? std::min(kLeastRows, rows->source(0)->bounds.max) : 1;
    return schedule::kept_rows(of, target_).rows >= least && !is_for_matrix_unit(scores) && reduces_rows(softmax);
  }

  // True where every reduction of the softmax is over one axis and of f32 values.
  static bool reduces_rows(UOpRef softmax) {
    return std::ranges::all_of(stage_body(softmax), [](UOpRef x) {
      return !x->is(Op::Reduce) || (x->sources.size() == 2 && x->dtype == ir::Scalar::F32);
    });
  }

  bool is_for_matrix_unit(UOpRef scores) const {
    return std::ranges::any_of(stage_body(scores), [&](UOpRef x) {
      if (!x->is(Op::Reduce)) return false;
      const std::optional<schedule::Product> product = schedule::matrix_product(x);
      return product && target_.multiplies_matrices(product->a->dtype.scalar, product->b->dtype.scalar);
    });
  }

  UOpRef kept(UOpRef stage, std::vector<UOpRef> sources) {
    ir::StageInfo info = stage->as<ir::StageInfo>();
    info.kept = true;
    return g_.make(Op::Stage, stage->dtype, sources, info);
  }

  UOpRef with_kept(UOpRef scores, UOpRef softmax, UOpRef e, UOpRef products, UOpRef sum, UOpRef weight,
                   std::size_t side) {
    UOpRef kept_scores = kept(scores, {scores->sources.begin(), scores->sources.end()});
    const std::pair<UOpRef, UOpRef> to_scores[] = {{scores, kept_scores}};
    std::vector<UOpRef> sources(softmax->sources.begin(), softmax->sources.end());
    sources[0] = replaced_below(g_, e, to_scores);
    UOpRef kept_e = kept(softmax, sources);
    std::vector<UOpRef> at(weight->source(0)->sources.begin(), weight->source(0)->sources.end());
    at[0] = kept_e;
    UOpRef of_row = g_.make(Op::Load, weight->dtype, {g_.make(Op::Index, ir::Scalar::Void, at)});
    UOpRef factors[] = {sum->source(0)->source(0), sum->source(0)->source(1)};
    factors[side] = of_row;
    UOpRef k = sum->source(1);
    UOpRef product = g_.make(Op::Reduce, sum->dtype, {g_.mul(factors[0], factors[1]), k}, sum->payload);
    UOpRef total = g_.make(Op::Reduce, sum->dtype, {of_row, k}, sum->payload);
    UOpRef quotient = g_.binary(Op::Div, product, total);
    // Without keys the products add up to zero.
    if (ir::may_be_empty(k))
      quotient = g_.where(ir::fold_lt(g_, g_.index(0), k->source(0)), quotient, g_.constant(sum->dtype, 0.0));
    const std::pair<UOpRef, UOpRef> to_quotient[] = {{sum, quotient}};
    std::vector<UOpRef> all(products->sources.begin(), products->sources.end());
    all[0] = replaced_below(g_, products->source(0), to_quotient);
    return g_.make(Op::Stage, products->dtype, all, products->payload);
  }

  ir::Graph& g_;
  UOpRef sink_;
  const target::Target& target_;
  const InvariantStages invariant_;
  const std::unordered_set<UOpRef> outputs_;
  std::unordered_map<UOpRef, std::vector<Use>> uses_;
};

}  // namespace

UOpRef keep_scores(ir::Graph& graph, UOpRef sink, const target::Target& target) {
  const bool pays = target.unit() == target::Unit::Invocation && target.shared_load_cost() < target.load_cost();
  return pays ? KeepScores(graph, sink, target).run() : sink;
}

}  // namespace hearth::passes
