#include "compiler/passes/ranged/injective.h"

#include <map>

#include "absl/container/flat_hash_set.h"
#include "compiler/ir/affine.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

bool injective(std::span<const UOpRef> own, std::span<const UOpRef> at) {
  bool plain = true;
  absl::flat_hash_set<UOpRef> seen;
  for (UOpRef i : at) {
    UOpRef base = i->is(Op::Add) && i->source(1)->is_const() ? i->source(0) : i;
    plain &= i->is_const() || (base->is(Op::Range) && seen.insert(base).second);
  }
  if (plain) return true;
  // Mixed radix: sorted by stride, each stride is at least the extent of everything below it.
  std::map<std::int64_t, std::int64_t> radix;  // stride -> extent
  std::int64_t stride = 1;
  for (std::size_t i = own.size(); i-- > 0;) {
    UOpRef size = own[i]->source(0);
    for (const ir::AffineTerm& t : ir::to_affine(at[i]).terms) {
      if (!t.atom->is(Op::Range) || !t.atom->source(0)->is_const() || t.coefficient <= 0) return false;
      if (!radix.emplace(t.coefficient * stride, t.atom->source(0)->int_value()).second) return false;
    }
    if (!size->is_const()) return false;
    stride *= size->int_value();
  }
  std::int64_t below = 1;
  for (auto [s, n] : radix) {
    if (s < below) return false;
    below = s * n;
  }
  return true;
}

}  // namespace hearth::passes
