// Identities, cancelling, gathering of constants and like terms. What is tagged kFloat is exact for NaN, -0 and
// infinity.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kAlgebraRules[] = {
    rule("add_zero", kInts, x + 0, x),
    rule("sub_zero", kInts | kFloat, x - 0, x),
    rule("zero_sub", kFixed, 0 - x, -x),
    rule("sub_self", kInts, x - x, 0),
    rule("mul_one", kInts | kFloat, x * 1, x),
    rule("mul_zero", kInts, x * 0, 0),
    rule("mul_minus_one", kFixed | kFloat, x * -1, -x),
    rule("div_one", kFloat, x / 1, x),
    rule("div_minus_one", kFloat, x / -1, -x),
    rule("neg_neg", kInts | kFloat, -(-x), x),
    rule("sub_neg", kFixed | kFloat, x - (-y), x + y),
    rule("add_neg", kFixed | kFloat, x + (-y), x - y),
    rule("mul_neg_neg", kInts | kFloat, (-x) * (-y), x* y),
    rule("neg_mul_const", kInts, any_of(-(x* c0), (-x) * c0), x* val(-c0)),
    rule("neg_sub", kInts, -(x - y), y - x),
    rule("sub_const", kFixed, x - c0, x + val(-c0)),
    for_ops({Op::Add, Op::Mul, Op::Min, Op::Max},
            rule("fold_nested_constants", kInts, op2(op2(x, c0), c1), op2(x, val(op2(c0, c1))))),
    for_ops({Op::And, Op::Or, Op::Xor},
            rule("gather_bits", kFixed | kBool, op2(op2(x, c0), c1), op2(x, val(op2(c0, c1))))),
    // The condition says that y is no constant: two constants would change places for ever.
    for_ops({Op::Add, Op::Mul, Op::Min, Op::Max},
            rule("hoist_constant", kInts, op2(op2(x, c0), y), op2(op2(x, y), c0), vmin(y) < vmax(y))),
    for_ops({Op::And, Op::Or, Op::Xor},
            rule("bits_outwards", kFixed | kBool, op2(op2(x, c0), y), op2(op2(x, y), c0), vmin(y) < vmax(y))),
    rule("combine_terms", kInts, x* c0 + x * c1, x* val(c0 + c1)),
    rule("combine_term_self", kInts, x + x * c0, x* val(c0 + 1)),
    rule("subtract_terms", kFixed, x* c0 - x * c1, x* val(c0 - c1)),
    rule("subtract_term_self", kFixed, x* c0 - x, x* val(c0 - 1)),
    rule("self_subtract_term", kFixed, x - x * c0, x* val(1 - c0)),
    rule("double", kInts, x + x, x * 2),
    rule("distribute_const", kInts, (x + c0) * c1, x* c1 + val(c0 * c1)),
    rule("add_sub_cancel", kInts, (x + y) - x, y),
    rule("sub_add_cancel", kInts, (x - y) + y, x),
    rule("sub_sum_cancel", kInts, x - (x + y), -y),
    rule("sub_difference_cancel", kInts, x - (x - y), y),
    rule("common_addend", kInts, (x + y) - (x + z), y - z),
    rule("abs_abs", kInts | kFloat, abs(abs(x)), abs(x)),
    rule("abs_neg", kSigned | kIndex | kFloat, abs(-x), abs(x)),
    rule("abs_non_negative", kInts, abs(x), x, vmin(x) >= 0),
    rule("abs_negative", kInts, abs(x), -x, vmax(x) <= 0),
    for_ops({Op::Floor, Op::Ceil, Op::Trunc, Op::Round}, rule("round_twice", kFloat, op1(op1(x)), op1(x))),
    for_ops({Op::Shl, Op::Shr}, rule("shift_zero", kFixed, op2(x, 0), x)),
    for_ops({Op::Shl, Op::Shr}, rule("zero_shift", kFixed, op2(0, x), 0)),
};

// Identities that keep the shape of a tensor: the result is one of the operands, the others are constants.
constexpr Rule kTensorRules[] = {
    rule("add_zero", kInts, x + 0, x),
    rule("sub_zero", kInts | kFloat, x - 0, x),
    rule("mul_one", kInts | kFloat, x * 1, x),
    rule("div_one", kFloat, x / 1, x),
    rule("neg_neg", kInts | kFloat, -(-x), x),
    rule("not_not", kFixed | kBool, ~(~x), x),
    for_ops({Op::Min, Op::Max, Op::And, Op::Or}, rule("same_operands", kFixed | kBool, op2(x, x), x)),
    for_ops({Op::Min, Op::Max}, rule("same_operands", kFloat, op2(x, x), x)),
};

}  // namespace

std::span<const Rule> algebra_rules() { return kAlgebraRules; }
std::span<const Rule> tensor_identity_rules() { return kTensorRules; }

}  // namespace hearth::rules
