#include "compiler/ir/affine.h"

#include <algorithm>

namespace hearth::ir {

Affine to_affine(UOpRef index) {
  Affine out;
  std::vector<std::pair<UOpRef, std::int64_t>> work = {{index, 1}};
  while (!work.empty()) {
    auto [x, c] = work.back();
    work.pop_back();
    if (x->is_const()) {
      out.constant += c * x->int_value();
    } else if (x->is(Op::Add)) {
      work.emplace_back(x->source(1), c);
      work.emplace_back(x->source(0), c);
    } else if (x->is(Op::Sub)) {
      work.emplace_back(x->source(1), -c);
      work.emplace_back(x->source(0), c);
    } else if (x->is(Op::Neg)) {
      work.emplace_back(x->source(0), -c);
    } else if (x->is(Op::Mul) && x->source(1)->is_const()) {
      work.emplace_back(x->source(0), c * x->source(1)->int_value());
    } else if (x->is(Op::Mul) && x->source(0)->is_const()) {
      work.emplace_back(x->source(1), c * x->source(0)->int_value());
    } else {
      auto found = std::ranges::find(out.terms, x, &AffineTerm::atom);
      if (found == out.terms.end()) {
        out.terms.push_back({x, c});
      } else {
        found->coefficient += c;
      }
    }
  }
  std::erase_if(out.terms, [](const AffineTerm& t) { return t.coefficient == 0; });
  return out;
}

}  // namespace hearth::ir
