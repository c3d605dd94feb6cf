#include "tests/unit/rules/surviving_mutants.h"

namespace hearth::test {

const std::vector<SurvivingMutant>& surviving_mutants() {
  static const std::vector<SurvivingMutant>& rows = *new std::vector<SurvivingMutant>{};
  return rows;
}

}  // namespace hearth::test
