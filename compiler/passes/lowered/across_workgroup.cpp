#include "compiler/passes/lowered/across_workgroup.h"

#include <algorithm>

#include "compiler/passes/lowered/reduce_kind.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

void AcrossWorkgroup::open(UOpRef range, const std::vector<UOpRef>& nodes) {
  size_ = range->source(0)->int_value();
  invocation_ = line(g_.make(Op::Range, ir::Scalar::I64, {number(size_)}, range->payload));
  first_ = number(0);
  always_ = line(g_.boolean(true));
  for (std::int64_t half = size_ / 2; half > 0; half /= 2) {
    UOpRef limit = number(half);
    steps_.push_back({line(g_.lt(invocation_, limit)), line(g_.add(invocation_, limit))});
  }
  for (UOpRef x : nodes) {
    if (x->is(Op::Allocate)) next_allocation_ = std::max(next_allocation_, x->as<ir::AllocationInfo>().id + 1);
  }
}

void AcrossWorkgroup::barrier() { line(g_.make(Op::Barrier, ir::Scalar::Void, {}, ir::BarrierInfo{next_barrier_++})); }

UOpRef AcrossWorkgroup::combine(ir::ReduceKind kind, UOpRef partial, const std::vector<UOpRef>& loops) {
  std::vector<UOpRef> unit;
  std::ranges::copy_if(loops, std::back_inserter(unit),
                       [](UOpRef loop) { return ir::is_range(loop, ir::RangeKind::Grid); });
  const std::uint32_t id = next_allocation_++;
  UOpRef shared = line(g_.make(Op::Allocate, partial->dtype, unit, ir::AllocationInfo{id, size_, id}));
  store(at(shared, invocation_, always_), partial);
  barrier();
  for (const Step& step : steps_) {
    UOpRef mine = at(shared, invocation_, step.takes_part);
    UOpRef both = passes::combine(g_, kind, load(mine), load(at(shared, step.other, step.takes_part)));
    store(mine, line(both));
    barrier();
  }
  UOpRef whole = load(at(shared, first_, always_));
  if (loops.size() > unit.size()) barrier();  // the next round writes what this one reads
  return whole;
}

}  // namespace hearth::passes
