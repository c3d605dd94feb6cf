// and, or, xor, not: on bool and bitwise on fixed-width integers (-1 is all ones, true for bool).
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr DTypeSet kBits = kFixed | kBool;

constexpr Rule kLogicRules[] = {
    for_ops({Op::And, Op::Or}, rule("same_operands", kBits, op2(x, x), x)),
    rule("and_zero", kBits, x & 0, 0),
    rule("and_ones", kBits, x & -1, x),
    rule("or_zero", kBits, x | 0, x),
    rule("or_ones", kBits, x | -1, -1),
    rule("xor_zero", kBits, x ^ 0, x),
    rule("xor_self", kBits, x ^ x, 0),
    rule("xor_ones", kBits, x ^ -1, ~x),
    rule("not_not", kBits, ~(~x), x),
    rule("and_not", kBits, x & ~x, 0),
    rule("or_not", kBits, x | ~x, -1),
    rule("xor_not", kBits, x ^ ~x, -1),
    rule("bits_absorb", kBits, any_of(x&(x | y), x | (x & y)), x),
    rule("and_again", kBits, x&(x& y), x& y),
    rule("or_again", kBits, x | (x | y), x | y),
    rule("and_or_not", kBits, x & (~x | y), x& y),
    rule("or_and_not", kBits, x | (~x & y), x | y),
    rule("xor_cancel", kBits, x ^ (x ^ y), y),
    rule("and_of_nots", kBits, ~x & ~y, ~(x | y)),
    rule("or_of_nots", kBits, ~x | ~y, ~(x& y)),
    rule("not_lt", kInts | kBool, !(x < y), y <= x),
    rule("not_le", kInts | kBool, !(x <= y), y < x),
    rule("not_eq", kAll, !eq(x, y), ne(x, y)),
    rule("not_ne", kAll, !ne(x, y), eq(x, y)),
};

}  // namespace

std::span<const Rule> logic_rules() { return kLogicRules; }

}  // namespace hearth::rules
