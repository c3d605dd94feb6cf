#include "compiler/schedule/kernel_facts.h"
#include "compiler/rules/polynomial.h"

#include <algorithm>

namespace hearth::schedule {

using ir::Op;
using ir::UOpRef;

bool KernelFacts::is_multiple(UOpRef range, std::int64_t n) {
  rules::Polynomial length;
  length.add(range->source(0));
  return length.is_multiple_of(n);
}

KernelFacts::KernelFacts(UOpRef kernel, UOpRef s, const target::Target& target)
    : store(s), is_only_store(kernel->sources.size() == 1) {
  int widest = 4;
  for (UOpRef x : toposort(store)) {
    std::unordered_set<UOpRef>& d = depends[x];
    if (x->is(Op::Range)) d.insert(x);
    for (UOpRef s : x->sources) d.insert(depends.at(s).begin(), depends.at(s).end());
    if (x->is(Op::Reduce)) {
      for (std::size_t i = 1; i < x->sources.size(); ++i) d.erase(x->source(i));
      reduces.push_back(x);
    }
    if (x->is(Op::Index)) accesses.push_back({x, ir::to_affine(x->source(1)), false, x == store->source(0)});
    if (x->is(Op::Load) || ir::is_elementwise(x->op))
      widest = std::max(widest, is_index(x->dtype) ? 4 : byte_size(x->dtype));
  }
  for (UOpRef reduce : reduces) {
    for (UOpRef x : toposort(reduce)) {
      for (Access& a : accesses) a.in_reduction |= a.index == x;
    }
  }
  lanes = std::max<std::int64_t>(1, target.lanes(widest));
  has_masks = target.has_masks();
  registers = target.vector_registers();
  l2_bytes = target.l2_bytes();
  threads = std::max<int>(1, static_cast<int>(target.threads()));
  if (reduces.size() == 1) unit = vector_unit(reduces[0], target);
  loops.assign(store->sources.begin() + 2, store->sources.end());
  for (UOpRef r : loops) {
    auto has = [&](UOpRef other) {
      return other != store && std::ranges::find(other->sources, r) != other->sources.end();
    };
    if (std::ranges::none_of(kernel->sources, has)) outputs.push_back(r);
  }
}

bool KernelFacts::hidden(const ir::Affine& at, UOpRef range) const {
  return std::ranges::any_of(at.terms,
                             [&](const ir::AffineTerm& t) { return t.atom != range && depends_on(t.atom, range); });
}

bool KernelFacts::is_unit_or_zero_stride(const Access& access, UOpRef range) const {
  const std::int64_t c = access.affine.coefficient_of(range);
  return (c == 0 || c == 1) && !hidden(access.affine, range);
}

UOpRef KernelFacts::contiguous_output() const {
  const ir::Affine at = ir::to_affine(store->source(0)->source(1));
  for (UOpRef r : outputs) {
    if (at.coefficient_of(r) == 1 && !hidden(at, r)) return r;
  }
  return nullptr;
}

PlacesOfChange places_of_change(UOpRef root, UOpRef range) {
  PlacesOfChange places;
  for (UOpRef x : toposort(root)) {
    if (!x->is(Op::Lt)) continue;
    std::int64_t place = 0;
    if (x->source(0) == range && x->source(1)->is_const()) place = x->source(1)->int_value();
    if (x->source(1) == range && x->source(0)->is_const()) place = x->source(0)->int_value() + 1;
    if (place > 0 && place < KernelFacts::size(range)) places.insert(place);
  }
  return places;
}

}  // namespace hearth::schedule
