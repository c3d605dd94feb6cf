#include "compiler/passes/lowered/across_workgroup.h"

#include <algorithm>

#include "compiler/passes/lowered/reduce_kind.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

void AcrossWorkgroup::open(UOpRef range, const std::vector<UOpRef>& nodes, std::int64_t subgroup) {
  size_ = range->source(0)->int_value();
  invocation_ = line(g_.make(Op::Range, ir::Scalar::I64, {number(size_)}, range->payload));
  always_ = line(g_.boolean(true));
  // One value of each subgroup has to find its place in one.
  if (subgroup > 1 && size_ <= subgroup * subgroup) subgroup_ = std::min(subgroup, size_);
  bool exchanges = false, halves = false;
  for (UOpRef x : nodes) {
    if (x->is(Op::Allocate)) next_allocation_ = std::max(next_allocation_, x->as<ir::AllocationInfo>().id + 1);
    if (!x->is(Op::Reduce)) continue;
    for (std::size_t i = 1; i < x->sources.size(); ++i) {
      if (!ir::is_range(x->source(i), ir::RangeKind::Invocation)) continue;
      const bool is_of_all = x->source(i)->source(0)->int_value() == size_;
      (subgroup_ > 0 && is_of_all ? exchanges : halves) = true;
    }
  }
  first_ = number(0);
  if (exchanges && size_ > subgroup_) {
    UOpRef in_subgroup = line(g_.binary(Op::FloorMod, invocation_, number(subgroup_)));
    is_first_ = line(g_.lt(in_subgroup, number(1)));
    own_subgroup_ = line(g_.binary(Op::FloorDiv, invocation_, number(subgroup_)));
    taken_ = line(g_.binary(Op::FloorMod, invocation_, number(size_ / subgroup_)));
  }
  for (std::int64_t half = size_ / 2; halves && half > 0; half /= 2) {
    UOpRef limit = number(half);
    steps_.push_back({half, line(g_.lt(invocation_, limit)), line(g_.add(invocation_, limit))});
  }
}

UOpRef AcrossWorkgroup::digit(std::int64_t size) {
  return size == size_ ? invocation_ : line(g_.binary(Op::FloorDiv, invocation_, number(size_ / size)));
}

void AcrossWorkgroup::barrier() { line(g_.make(Op::Barrier, ir::Scalar::Void, {}, ir::BarrierInfo{next_barrier_++})); }

UOpRef AcrossWorkgroup::exchanged(ir::ReduceKind kind, UOpRef value, std::int64_t invocations) {
  for (std::int64_t half = invocations / 2; half > 0; half /= 2) {
    UOpRef other = line(g_.make(Op::Exchange, value->dtype, {value}, ir::LaneInfo{static_cast<std::uint32_t>(half)}));
    value = line(passes::combine(g_, kind, value, other));
  }
  return value;
}

UOpRef AcrossWorkgroup::by_halves(ir::ReduceKind kind, UOpRef partial, std::int64_t results, UOpRef shared) {
  store(at(shared, invocation_, always_), partial);
  barrier();
  for (const Step& step : steps_) {
    if (step.half < results) break;
    UOpRef mine = at(shared, invocation_, step.takes_part);
    UOpRef both = passes::combine(g_, kind, load(mine), load(at(shared, step.other, step.takes_part)));
    store(mine, line(both));
    barrier();
  }
  UOpRef place = results == 1 ? first_ : line(g_.binary(Op::FloorMod, invocation_, number(results)));
  return load(at(shared, place, always_));
}

UOpRef AcrossWorkgroup::combine(ir::ReduceKind kind, UOpRef partial, std::int64_t size,
                                const std::vector<UOpRef>& loops) {
  const bool exchanges = subgroup_ > 0 && size == size_;
  if (exchanges) partial = exchanged(kind, partial, subgroup_);
  if (exchanges && size_ == subgroup_) return partial;
  std::vector<UOpRef> unit;
  std::ranges::copy_if(loops, std::back_inserter(unit),
                       [](UOpRef loop) { return ir::is_range(loop, ir::RangeKind::Grid); });
  const std::int64_t count = exchanges ? size_ / subgroup_ : size_;
  const std::uint32_t id = next_allocation_++;
  UOpRef shared = line(g_.make(Op::Allocate, partial->dtype, unit, ir::AllocationInfo{id, count, id}));
  UOpRef whole = nullptr;
  if (exchanges) {
    store(at(shared, own_subgroup_, is_first_), partial);
    barrier();
    whole = exchanged(kind, load(at(shared, taken_, always_)), count);
  } else {
    whole = by_halves(kind, partial, size_ / size, shared);
  }
  const bool has_rounds = std::ranges::any_of(
      loops, [](UOpRef loop) { return !ir::is_range(loop, ir::RangeKind::Grid) && ir::has_rounds(loop); });
  if (has_rounds) barrier();  // the next round writes what this one reads
  return whole;
}

}  // namespace hearth::passes
