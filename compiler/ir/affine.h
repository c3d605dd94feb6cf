// Affine view of an index expression: sum of coefficient * atom + constant, where an atom is any node that is no sum
// and no product by a constant (usually a range).
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::ir {

struct AffineTerm {
  UOpRef atom;
  std::int64_t coefficient;
};
struct Affine {
  std::vector<AffineTerm> terms;  // distinct atoms, in order of first appearance, coefficients not 0
  std::int64_t constant = 0;
  std::int64_t coefficient_of(UOpRef atom) const {
    for (const AffineTerm& t : terms) {
      if (t.atom == atom) return t.coefficient;
    }
    return 0;
  }
};

// Coefficients are exact: indices are within int64 and import bounds their parts.
Affine to_affine(UOpRef index);

}  // namespace hearth::ir
