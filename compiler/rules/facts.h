// Facts: what a condition says about index sums, and an expression made simpler where the condition holds.
//
//   std::vector<UOpRef> parts = conjuncts(gate);                      // -1 < i + k - 2, i + k - 2 < 32
//   Facts facts = facts_of(parts);                                    // i + k <= 33, -i - k <= -2
//   UOpRef simple = simplify_under(context, index, parts, true);      // (i + k - 2) mod 32 -> i + k - 2, or null
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/rewrite/rule.h"
#include "compiler/rules/linear_form.h"

namespace hearth::rules {

// form <= limit, where the form has no constant.
struct Fact {
  LinearForm form;
  std::int64_t limit = 0;
};
using Facts = std::vector<Fact>;

// The operands of a tree of And (for Or: of Or), left to right, each once.
std::vector<ir::UOpRef> conjuncts(ir::UOpRef condition, ir::Op op = ir::Op::And);

// The facts of comparisons of scalar indices that all hold (all fail when `holds` is false); others say nothing.
Facts facts_of(std::span<const ir::UOpRef> comparisons, bool holds = true);

// The least upper limit of `form` that its atoms' bounds and the facts, one at a time, give.
std::optional<__int128> upper_limit(const LinearForm& form, const Facts& facts);

// `value` with fewer divisions, modulos, choices and comparisons, equal to it wherever all of `conditions` hold (all
// fail when `holds` is false); null when there is none. Loads and reductions inside `value` stay as they are.
// After tinygrad's uop_given_valid: what a condition bounds becomes a variable with these bounds, is simplified, and is
// put back.
ir::UOpRef simplify_under(rewrite::Context& context, ir::UOpRef value, std::span<const ir::UOpRef> conditions,
                          bool holds);

}  // namespace hearth::rules
