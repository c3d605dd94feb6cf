// The rule report: what the tests of this program proved, checked and refuted, a line a family, printed when all have
// run. Tests that were filtered out leave zeros.
//
//   report()["compare"].proved_integers += 1;
#pragma once
#include <map>
#include <string>

namespace hearth::test {

struct FamilyReport {
  int rules = 0, declarative = 0, functions = 0;
  int proved_integers = 0, proved_vectors = 0;  // vectors: signed and unsigned 8-bit are one proof each
  int proved_others = 0;                        // bools, IEEE floats; real numbers for fast_math
  int checked = 0;                              // functions checked on instances
  int mutants = 0, refuted = 0;                 // of declarative rules
  int wrong_results = 0, caught = 0;            // changed results of functions

  FamilyReport& operator+=(const FamilyReport& other);
};

// By the name of the family.
std::map<std::string, FamilyReport>& report();

}  // namespace hearth::test
