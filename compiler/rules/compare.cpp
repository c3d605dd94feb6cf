// Comparisons: equal operands, bounds, constants moved to one side. Moving a constant across < holds for index only:
// x + c0 < c1 is not x < c1 - c0 where the sum wraps. Index comparisons with a constant end as < (never <=).
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kCompareRules[] = {
    rule("lt_self", kAll, x < x, false),
    rule("le_self", kInts | kBool, x <= x, true),
    rule("eq_self", kInts | kBool, eq(x, x), true),
    rule("ne_self", kInts | kBool, ne(x, x), false),
    rule("lt_true", kInts | kBool, x < y, true, vmax(x) < vmin(y)),
    rule("lt_false", kInts | kBool, x < y, false, vmin(x) >= vmax(y)),
    rule("le_true", kInts | kBool, x <= y, true, vmax(x) <= vmin(y)),
    rule("le_false", kInts | kBool, x <= y, false, vmin(x) > vmax(y)),
    rule("eq_false", kInts | kBool, eq(x, y), false, vmax(x) < vmin(y) || vmax(y) < vmin(x)),
    rule("ne_true", kInts | kBool, ne(x, y), true, vmax(x) < vmin(y) || vmax(y) < vmin(x)),
    rule("equal_to_true", kBool, any_of(eq(p, 1), ne(p, 0)), p),
    rule("equal_to_false", kBool, any_of(eq(p, 0), ne(p, 1)), !p),
    rule("le_const", kIndex, x <= c0, x < val(c0 + 1)),
    rule("const_le", kIndex, c0 <= x, val(c0 - 1) < x),
    rule("lt_move_const", kIndex, x + c0 < c1, x < val(c1 - c0)),
    rule("const_lt_move_const", kIndex, c0 < x + c1, val(c0 - c1) < x),
    for_ops({Op::Eq, Op::Ne}, rule("eq_move_const", kInts, op2(x + c0, c1), op2(x, val(c1 - c0)))),
    for_ops({Op::Eq, Op::Ne}, rule("eq_move_neg", kInts, op2(-x, c0), op2(x, val(-c0)))),
    rule("lt_scaled", kIndex, x* c0 < c1, x < val(-floordiv(-c1, c0)), c0 > 0),
    rule("lt_scaled_negative", kIndex, x* c0 < c1, val(floordiv(-c1, -c0)) < x, c0 < 0),
    rule("const_lt_scaled", kIndex, c1 < x * c0, val(floordiv(c1, c0)) < x, c0 > 0),
    rule("const_lt_scaled_negative", kIndex, c1 < x * c0, x < val(-floordiv(c1, -c0)), c0 < 0),
    rule("lt_divided", kIndex, floordiv(x, c0) < c1, x < val(c1 * c0), c0 > 0),
    rule("const_lt_divided", kIndex, c1 < floordiv(x, c0), val((c1 + 1) * c0 - 1) < x, c0 > 0),
    rule("eq_scaled", kIndex, eq(x* c0, c1), eq(x, val(floordiv(c1, c0))), c0 != 0 && floormod(c1, c0) == 0),
    rule("eq_scaled_never", kIndex, eq(x* c0, c1), false, c0 != 0 && floormod(c1, c0) != 0),
    rule("ne_scaled", kIndex, ne(x* c0, c1), ne(x, val(floordiv(c1, c0))), c0 != 0 && floormod(c1, c0) == 0),
    rule("ne_scaled_always", kIndex, ne(x* c0, c1), true, c0 != 0 && floormod(c1, c0) != 0),
    for_ops({Op::Lt, Op::Le}, rule("compare_common_addend", kIndex, op2(x + y, x + z), op2(y, z))),
    for_ops({Op::Eq, Op::Ne}, rule("eq_common_addend", kInts, op2(x + y, x + z), op2(y, z))),
    rule("lt_and_lt", kInts, (x < c0) && (x < c1), x < val(min(c0, c1))),
    rule("lt_or_lt", kInts, (x < c0) || (x < c1), x < val(max(c0, c1))),
    rule("const_lt_and_lt", kInts, (c0 < x) && (c1 < x), val(max(c0, c1)) < x),
    rule("const_lt_or_lt", kInts, (c0 < x) || (c1 < x), val(min(c0, c1)) < x),
    rule("between_never", kInts, (c0 < x) && (x < c1), false, c1 <= c0 + 1),
    rule("outside_always", kInts, (c0 < x) || (x < c1), true, c0 < c1),
    rule("lt_and_ge", kInts, (x < y) && (y <= x), false),
    rule("lt_or_ge", kInts, (x < y) || (y <= x), true),
};

}  // namespace

std::span<const Rule> compare_rules() { return kCompareRules; }

}  // namespace hearth::rules
