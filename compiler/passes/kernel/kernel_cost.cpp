#include "compiler/passes/kernel/kernel_cost.h"

#include <algorithm>
#include <map>

#include "compiler/passes/kernel/evaluations.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// Which elements of one buffer the accesses of a kernel touch.
struct Touched {
  double element_bytes = 0;
  double accesses = 0;                                           // different positions, summed over the accesses
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;  // that they lie in, inclusive

  double elements() const {
    auto sorted = intervals;
    std::sort(sorted.begin(), sorted.end());
    double covered = 0;
    std::int64_t next = 0;  // all before it is counted
    for (auto [first, last] : sorted) {
      first = std::max(first, next);
      if (last < first) continue;
      covered += static_cast<double>(last - first + 1);
      next = last + 1;
    }
    return std::min(accesses, covered);
  }
};

}  // namespace

int ops_of(UOpRef x) {
  if (!ir::is_elementwise(x->op) || is_index(x->dtype) || is_bool(x->dtype)) return 0;
  if (x->is(Op::Cast) || x->is(Op::Bitcast) || x->is(Op::Where)) return 0;
  return x->is(Op::Fma) ? 2 : 1;
}

KernelCost kernel_cost(UOpRef flat, const std::vector<std::int64_t>& elements) {
  KernelCost cost;
  Dependence depends;
  std::map<std::pair<std::uint32_t, bool>, Touched> touched;  // by slot, and whether it is stored to
  const auto touch = [&](UOpRef index, bool stored) {
    UOpRef param = index->source(0), position = index->source(1);
    if (!param->is(Op::Param)) return;
    const std::uint32_t slot = param->as<ir::ParamInfo>().slot;
    if (slot >= elements.size()) return;
    Touched& places = touched[{slot, stored}];
    places.element_bytes = static_cast<double>(byte_size(param->dtype));
    places.accesses += evaluations(depends.at(position));
    places.intervals.emplace_back(std::max<std::int64_t>(position->bounds.min, 0),
                                  std::min(position->bounds.max, elements[slot] - 1));
  };
  for (UOpRef x : toposort(flat)) {
    const double times = evaluations(enter(depends, x));
    if (x->is(Op::Load)) touch(x->source(0), /*stored=*/false);
    if (x->is(Op::Store)) touch(x->source(0), /*stored=*/true);
    if (x->is(Op::Reduce)) {
      cost.ops += times;
      close_reduction(depends, x);
    } else {
      cost.ops += ops_of(x) * times;
    }
  }
  for (const auto& [place, places] : touched) {
    const double bytes = places.elements() * places.element_bytes;
    (place.second ? cost.bytes_written : cost.bytes_read) += bytes;
  }
  return cost;
}

}  // namespace hearth::passes
