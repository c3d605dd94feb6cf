// RuleSet: rules indexed by root operation, tried in declared order (rules whose left side may be any node included).
// Immutable after construction; safe to share between threads.
#pragma once
#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "compiler/rewrite/rule.h"

namespace hearth::rewrite {

class RuleSet {
 public:
  // Rules of for_ops become one rule an operation.
  explicit RuleSet(const std::vector<std::span<const Rule>>& parts);
  RuleSet(std::initializer_list<std::span<const Rule>> parts) : RuleSet(std::vector(parts)) {}

  struct Result {
    ir::UOpRef node = nullptr;  // null: no rule applies
    std::size_t rule = 0;       // position in rules()
  };
  Result apply(Context& context, ir::UOpRef node) const;

  const std::vector<Rule>& rules() const { return rules_; }
  // Another one for every set of this process.
  std::uint64_t number() const { return number_; }

 private:
  using OpSet = std::bitset<ir::kNumOps>;
  // A rule that a node of an operation may match, if it has sources of all these operations.
  struct Candidate {
    std::uint16_t rule;
    OpSet sources;
  };

  std::vector<Rule> rules_;
  std::vector<std::vector<Candidate>> by_op_;
  std::uint64_t number_;
};

}  // namespace hearth::rewrite
