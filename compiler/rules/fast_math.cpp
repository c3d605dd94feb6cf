// Float rules that are wrong for NaN, -0, infinity or rounding. Off by default.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kFastMathRules[] = {
    rule("fast_add_zero", kFloat, x + 0, x),
    rule("fast_mul_zero", kFloat, x * 0, 0),
    rule("fast_mul_one_hot", kFloat, x* where(p, 1, 0), where(p, x, 0)),
    rule("fast_sub_self", kFloat, x - x, 0),
    rule("fast_div_self", kFloat, x / x, 1),
    rule("fast_eq_self", kFloat, eq(x, x), true),
    rule("fast_add_consts", kFloat, (x + c0) + c1, x + val(c0 + c1)),
    rule("fast_mul_consts", kFloat, (x * c0) * c1, x* val(c0* c1)),
    rule("fast_combine_terms", kFloat, x* c0 + x * c1, x* val(c0 + c1)),
    rule("fast_mul_div", kFloat, (x * y) / y, x),
    rule("fast_div_const", kFloat, x / c0, x* val(recip(c0))),
    rule("fast_neg_sub", kFloat, -(x - y), y - x),
    rule("fast_mul_recip", kFloat, x* recip(y), x / y),
};

}  // namespace

std::span<const Rule> fast_math_rules() { return kFastMathRules; }

}  // namespace hearth::rules
