// Wrong neighbours of a declarative rule: its right side with another constant, operation or capture; its condition
// without a part or weaker by one. Each differs from the rule in one place.
//
//   for (const Rule& mutant : mutants(rule)) to_string(mutant)
#pragma once
#include <vector>

#include "compiler/rewrite/rule.h"

namespace hearth::test {

// `rule` must be spelled out (families.h). No two of the result print the same.
std::vector<rewrite::Rule> mutants(const rewrite::Rule& rule);

}  // namespace hearth::test
