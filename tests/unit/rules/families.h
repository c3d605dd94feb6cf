// The rule families by name, as the tests walk them.
#pragma once
#include <string_view>
#include <vector>

#include "compiler/rules/rules.h"

namespace hearth::test {

struct Family {
  std::string_view name;
  std::span<const rewrite::Rule> rules;
  bool real_numbers = false;  // holds for real numbers and no division by zero, not for floats
};

inline std::vector<Family> families() {
  return {{"constants", rules::constant_rules()},
          {"algebra", rules::algebra_rules()},
          {"logic", rules::logic_rules()},
          {"where", rules::where_rules()},
          {"compare", rules::compare_rules()},
          {"minmax", rules::minmax_rules()},
          {"divmod", rules::divmod_rules()},
          {"cast", rules::cast_rules()},
          {"vector", rules::vector_rules()},
          {"strength", rules::strength_rules()},
          {"gate", rules::gate_rules()},
          {"reduce", rules::reduce_rules()},
          {"index_sum", rules::index_sum_rules()},
          {"index_divmod", rules::index_divmod_rules()},
          {"index_compare", rules::index_compare_rules()},
          {"movement", rules::movement_rules()},
          {"tensor_identity", rules::tensor_identity_rules()},
          {"fast_math", rules::fast_math_rules(), true}};
}

// The pattern with one alternative of each any_of in it, for every combination.
std::vector<rewrite::Pattern> alternatives(const rewrite::Pattern& pattern);

// The rules of a family with for_ops and, for declarative rules, any_of spelled out.
std::vector<rewrite::Rule> instances(const Family& family);

}  // namespace hearth::test
