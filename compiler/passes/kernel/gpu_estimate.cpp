#include "compiler/passes/kernel/gpu_estimate.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/schedule/op_cost.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

double length_of_loop(UOpRef range) {
  return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1));
}

bool is_copied(UOpRef range) { return ir::is_range(range, RangeKind::Unroll); }

// What one store computes: all its invocations, in multiply-adds.
class StoreTime {
 public:
  StoreTime(UOpRef store, const target::Target& target) : store_(store), target_(target) {
    for (std::size_t i = 2; i < store->sources.size(); ++i) {
      if (!is_copied(store->source(i)) && !ir::is_range(store->source(i), RangeKind::Reduce))
        turns_ *= length_of_loop(store->source(i));
    }
  }

  double invocations() const { return turns_; }
  double run() {
    double time = 0;
    for (UOpRef x : ir::toposort(store_)) time += cost_of(x) * times(x);
    return time;
  }

 private:
  // How often `x` is computed by all invocations together: in each one once for every copy and every element of a sum
  // that `x` moves with. A value that does not move with a loop is computed in front of it.
  double times(UOpRef x) {
    std::unordered_set<UOpRef>& moves = moves_[x];
    if (x->is(Op::Range) && (is_copied(x) || ir::is_range(x, RangeKind::Reduce))) moves.insert(x);
    for (UOpRef source : x->sources) moves.insert(moves_.at(source).begin(), moves_.at(source).end());
    double times = turns_;
    for (UOpRef range : moves) times *= length_of_loop(range);
    if (x->is(Op::Reduce)) {
      for (std::size_t i = 1; i < x->sources.size(); ++i) moves.erase(x->source(i));
    }
    return times;
  }

  double cost_of(UOpRef x) const {
    if (x->is(Op::Load) || x->is(Op::Store)) {
      const bool is_shared = x->source(0)->source(0)->is(Op::Allocate);
      return static_cast<double>(is_shared ? target_.shared_load_cost() : target_.load_cost());
    }
    if (x->is(Op::Wmma)) {
      const auto& unit = x->as<ir::WmmaInfo>();
      return static_cast<double>(unit.m * unit.n * unit.k) / static_cast<double>(target_.subgroup_size()) /
             target_.matrix_speed(unit);
    }
    // A sum's multiply-add is one.
    if (x->is(Op::Reduce)) return x->source(0)->is(Op::Wmma) || x->source(0)->is(Op::Mul) ? 0 : 1;
    return ir::is_elementwise(x->op) && !is_bool(x->dtype) ? schedule::op_cost(x) : 0;
  }

  UOpRef store_;
  const target::Target& target_;
  double turns_ = 1;
  std::unordered_map<UOpRef, std::unordered_set<UOpRef>> moves_;
};

}  // namespace

void estimate_on_gpu(UOpRef kernel, const target::Target& target, KernelCost& cost) {
  const auto busy = static_cast<double>(target.wanted_invocations());
  double time = 0, invocations = 1;
  for (UOpRef store : kernel->sources) {
    StoreTime of(store, target);
    time += of.run();
    invocations = of.invocations();
  }
  cost.shared_bytes = 0;
  for (UOpRef x : ir::toposort(kernel)) {
    if (x->is(Op::Allocate))
      cost.shared_bytes += static_cast<double>(x->as<ir::AllocationInfo>().elements * byte_size(x->dtype));
  }
  const double memory = (cost.bytes_read + cost.bytes_written) * target.multiply_adds_per_byte() / busy;
  double speed = 1;
  for (UOpRef x : ir::toposort(kernel)) {
    if (x->is(Op::Wmma)) speed = target.matrix_speed(x->as<ir::WmmaInfo>());
  }
  cost.occupancy = std::min(1.0, invocations / busy);
  cost.cycles = std::max(time / std::min(busy, std::max(1.0, invocations)), memory);
  cost.least_cycles = std::max(cost.ops / 2 / speed / busy, memory);
}

}  // namespace hearth::passes
