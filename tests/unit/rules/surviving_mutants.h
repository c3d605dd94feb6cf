// Mutants of declarative rules that are no mistake, each with its reason and what mutant_test checks of it: that it is
// proved over all domains of its rule, that its condition never holds there, or, where Z3 reaches its limit over the
// integers, only that no domain refutes it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

struct SurvivingMutant {
  enum class Claim { Proved, Never, NotRefuted };
  struct Reason {
    Claim claim;
    std::string_view text;
  };
  std::string text;  // family/rule, as it prints
  Reason reason;
};
const std::vector<SurvivingMutant>& surviving_mutants();

}  // namespace hearth::test
