// Mutants of declarative rules that are no mistake, each with its reason. mutant_test proves every one of them to hold
// over all domains of its rule.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

struct SurvivingMutant {
  std::string text;  // family/rule, as it prints
  std::string_view reason;
};
const std::vector<SurvivingMutant>& surviving_mutants();

}  // namespace hearth::test
