#include "compiler/passes/kernel/summed_slots.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

bool is_one_of(UOpRef x, std::initializer_list<Op> ops) {
  return std::ranges::any_of(ops, [x](Op op) { return x->is(op); });
}

// The value itself, in another place or type, or its negation.
bool passes_on(UOpRef x) {
  const Scalar to = x->dtype.scalar;
  const bool is_no_wider = to == Scalar::F32 || to == Scalar::BF16 || to == Scalar::F16;
  return (x->is(Op::Cast) && is_no_wider) ||
         is_one_of(x, {Op::Neg, Op::Where, Op::Load, Op::Broadcast, Op::Stack, Op::Extract});
}

bool ends_as_zero(UOpRef x) {
  if (is_one_of(x, {Op::Reduce, Op::Horizontal})) return x->as<ir::ReduceInfo>().kind == ir::ReduceKind::Sum;
  if (x->is(Op::Cast)) return !ir::is_float(x->dtype);
  return x->dtype.scalar != Scalar::F64 && is_one_of(x, {Op::Mul, Op::Add, Op::Sub, Op::Fma, Op::Wmma});
}

// Follows what is loaded to where it is used.
class Uses {
 public:
  explicit Uses(UOpRef kernel) {
    const std::vector<UOpRef> nodes = toposort(kernel);
    for (bool changed = true; changed;) {  // again where a kernel's own memory passes values on
      changed = false;
      for (UOpRef x : nodes) changed |= follow(x);
      changed &= passed_on_in_memory_;
    }
  }
  bool are_summed(std::uint32_t slot) const { return loaded_.contains(slot) && !otherwise_.contains(slot); }

 private:
  using Slots = std::set<std::uint32_t>;

  bool add(UOpRef x, const Slots& slots) {
    Slots& known = values_[x];
    const std::size_t before = known.size();
    known.insert(slots.begin(), slots.end());
    return known.size() != before;
  }

  bool follow(UOpRef x) {
    bool changed = x->is(Op::Load) && load(x);
    for (UOpRef source : x->sources) {
      const auto found = values_.find(source);
      if (found == values_.end() || source->is(Op::Allocate)) continue;
      const Slots slots = found->second;  // the map may move it
      UOpRef stored_to = x->is(Op::Store) && source == x->source(1) ? x->source(0)->source(0) : nullptr;
      if (stored_to && stored_to->is(Op::Allocate)) {
        passed_on_in_memory_ = true;
        changed |= add(stored_to, slots);
      } else if (passes_on(x)) {
        changed |= add(x, slots);
      } else if (!ends_as_zero(x)) {
        otherwise_.insert(slots.begin(), slots.end());
      }
    }
    return changed;
  }

  bool load(UOpRef x) {
    UOpRef index = x->source(0), memory = index->source(0);
    if (memory->is(Op::Allocate)) return values_.contains(memory) && add(x, Slots(values_[memory]));
    if (!memory->is(Op::Param)) return false;
    const std::uint32_t slot = memory->as<ir::ParamInfo>().slot;
    const std::vector<UOpRef> place(index->sources.begin() + 1, index->sources.end());
    const bool is_decided = std::ranges::any_of(nodes_below(place), [](UOpRef n) { return n->is(Op::Load); });
    if (is_decided || (x->dtype.scalar != Scalar::F32 && x->dtype.scalar != Scalar::BF16)) otherwise_.insert(slot);
    loaded_.insert(slot);
    return add(x, {slot});
  }

  std::unordered_map<UOpRef, Slots> values_;  // from which slots they come; of an allocation: what is stored there
  Slots loaded_, otherwise_;
  bool passed_on_in_memory_ = false;
};

}  // namespace

std::vector<bool> summed_slots(UOpRef kernel, std::size_t num_slots) {
  const Uses uses(kernel);
  std::vector<bool> summed(num_slots);
  for (std::uint32_t slot = 0; slot < num_slots; ++slot) summed[slot] = uses.are_summed(slot);
  return summed;
}

}  // namespace hearth::passes
