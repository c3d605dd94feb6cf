// What is true of the truncated quotient q and remainder r of two vectors a and b, b not zero. A proof over a width at
// which Z3 cannot multiply out a division uses these. Three are what SMT-LIB defines q and r by; proof_test proves those
// for Z3's own division at 8 bits, and the others at every width.
#pragma once
#include <z3++.h>

#include <vector>

namespace hearth::test {

struct DivisionFact {
  const char* name;
  bool defines;
  z3::expr fact;
};
std::vector<DivisionFact> division_facts(bool is_signed, const z3::expr& a, const z3::expr& b, const z3::expr& q,
                                         const z3::expr& r);

}  // namespace hearth::test
