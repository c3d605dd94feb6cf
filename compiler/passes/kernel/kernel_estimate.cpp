#include "compiler/passes/kernel/kernel_estimate.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/affine.h"
#include "compiler/schedule/op_cost.h"
#include "compiler/schedule/tile_cost.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

double length(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }

bool is_of(UOpRef range, std::initializer_list<RangeKind> kinds) {
  return std::ranges::find(kinds, range->as<ir::RangeInfo>().kind) != kinds.end();
}

class Estimate {
 public:
  explicit Estimate(UOpRef kernel) : order_(toposort(kernel)) {
    for (UOpRef x : order_) {
      std::vector<UOpRef>& open = open_[x];
      if (x->is(Op::Range)) open.push_back(x);
      for (UOpRef source : x->sources) {
        for (UOpRef range : open_.at(source)) {
          if (std::ranges::find(open, range) == open.end()) open.push_back(range);
        }
      }
      if (!x->is(Op::Reduce)) continue;
      inside_[x] = open;
      std::erase_if(open, [&](UOpRef range) { return closes(x, range); });
    }
  }

  double run() {
    double cycles = 0;
    std::unordered_set<UOpRef> counted;
    for (UOpRef x : order_) {
      if (x->is(Op::Reduce)) cycles += reduction(x, counted);
    }
    for (UOpRef x : order_) {
      if (counted.contains(x)) continue;
      cycles += times(open_.at(x)) * (arithmetic(x) / kCore.fma_per_cycle + accesses(x) / kCore.loads_per_cycle);
    }
    return cycles;
  }

 private:
  static bool closes(UOpRef reduce, UOpRef range) {
    return std::find(reduce->sources.begin() + 1, reduce->sources.end(), range) != reduce->sources.end();
  }

  // Iterations of loops; of everything but lanes, which one instruction serves.
  static double turns(const std::vector<UOpRef>& ranges) {
    double n = 1;
    for (UOpRef r : ranges) {
      if (is_of(r, {RangeKind::Loop, RangeKind::Grid, RangeKind::Reduce})) n *= length(r);
    }
    return n;
  }
  static double times(const std::vector<UOpRef>& ranges) {
    double n = 1;
    for (UOpRef r : ranges) {
      if (!is_of(r, {RangeKind::Lanes, RangeKind::Dot})) n *= length(r);
    }
    return n;
  }

  static double arithmetic(UOpRef x) {
    return ir::is_elementwise(x->op) && !is_bool(x->dtype) && !x->is(Op::Where) ? schedule::op_cost(x) : 0;
  }

  double accesses(UOpRef x) const {
    if (!x->is(Op::Load) && !x->is(Op::Store)) return 0;
    UOpRef position = x->source(0)->source(1);
    const ir::Affine at = ir::to_affine(position);
    for (UOpRef r : open_.at(position)) {
      if (!is_of(r, {RangeKind::Lanes})) continue;
      const bool is_hidden = std::ranges::any_of(at.terms, [&](const ir::AffineTerm& t) {
        return t.atom != r && std::ranges::find(open_.at(t.atom), r) != open_.at(t.atom).end();
      });
      if (is_hidden || at.coefficient_of(r) != 1) return length(r);
    }
    return 1;
  }

  // An iteration of the innermost loop takes as long as what limits it.
  double reduction(UOpRef reduce, std::unordered_set<UOpRef>& counted) const {
    const std::vector<UOpRef>& inside = inside_.at(reduce);
    const double iterations = turns(inside);
    const bool is_sum = reduce->as<ir::ReduceInfo>().kind == ir::ReduceKind::Sum;
    double operations = times(inside), loads = 0;
    std::vector<UOpRef> work = {reduce->source(0)};
    std::unordered_set<UOpRef> seen;
    while (!work.empty()) {
      UOpRef x = work.back();
      work.pop_back();
      const std::vector<UOpRef>& open = open_.at(x);
      const bool moves = std::ranges::any_of(open, [&](UOpRef range) { return closes(reduce, range); });
      if (!moves || counted.contains(x) || !seen.insert(x).second) continue;
      work.insert(work.end(), x->sources.begin(), x->sources.end());
      const bool is_multiply_add = is_sum && x == reduce->source(0) && x->is(Op::Mul);
      if (!is_multiply_add) operations += arithmetic(x) * times(open);
      loads += accesses(x) * times(open);
    }
    counted.insert(seen.begin(), seen.end());
    const double limit = std::max(operations / kCore.fma_per_cycle, loads / kCore.loads_per_cycle) / iterations;
    return iterations * (std::max(limit, kCore.fma_latency) + kCore.loop_cycles);
  }

  std::vector<UOpRef> order_;
  std::unordered_map<UOpRef, std::vector<UOpRef>> open_;    // node -> ranges that it has a value for each of
  std::unordered_map<UOpRef, std::vector<UOpRef>> inside_;  // reduction -> those of its body
};

}  // namespace

double estimated_cycles(UOpRef kernel) { return Estimate(kernel).run(); }

double ops_per_cycle(const target::Target& target) {
  return 2 * kCore.fma_per_cycle * std::max<double>(1, static_cast<double>(target.lanes(4)));
}

}  // namespace hearth::passes
