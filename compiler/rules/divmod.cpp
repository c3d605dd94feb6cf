// Division and modulo by declarative rules; sums of many terms are index_divmod.cpp's. Remember: x div 0 = 0 = x mod 0.
// Nested division multiplies the divisors for index only: in a fixed width the product may wrap.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kDivmodRules[] = {
    for_ops({Op::FloorDiv, Op::TruncDiv}, rule("div_by_one", kInts, op2(x, 1), x)),
    for_ops({Op::FloorMod, Op::TruncMod}, rule("mod_by_one", kInts, op2(x, 1), 0)),
    for_ops({Op::FloorDiv, Op::TruncDiv, Op::FloorMod, Op::TruncMod}, rule("divmod_by_zero", kInts, op2(x, 0), 0)),
    for_ops({Op::FloorDiv, Op::TruncDiv, Op::FloorMod, Op::TruncMod}, rule("divmod_of_zero", kInts, op2(0, x), 0)),
    for_ops({Op::FloorDiv, Op::TruncDiv}, rule("div_by_minus_one", kSigned | kIndex, op2(x, -1), -x)),
    for_ops({Op::FloorMod, Op::TruncMod}, rule("mod_by_minus_one", kSigned | kIndex, op2(x, -1), 0)),
    for_ops({Op::FloorDiv, Op::TruncDiv}, rule("div_self", kInts, op2(x, x), 1, vmin(x) > 0 || vmax(x) < 0)),
    for_ops({Op::FloorMod, Op::TruncMod}, rule("mod_self", kInts, op2(x, x), 0)),
    for_ops({Op::FloorMod, Op::TruncMod}, rule("mod_small", kInts, op2(x, y), x, vmin(x) >= 0 && vmax(x) < vmin(y))),
    for_ops({Op::FloorDiv, Op::TruncDiv}, rule("div_small", kInts, op2(x, y), 0, vmin(x) >= 0 && vmax(x) < vmin(y))),
    rule("div_small_negative", kSigned | kIndex, floordiv(x, y), -1, vmax(x) < 0 && vmin(x) + vmin(y) >= 0),
    rule("mod_small_negative", kSigned | kIndex, floormod(x, y), x + y, vmax(x) < 0 && vmin(x) + vmin(y) >= 0),
    rule("truncdiv_is_floordiv", kIndex, truncdiv(x, y), floordiv(x, y), vmin(x) >= 0 && vmin(y) >= 0),
    rule("truncmod_is_floormod", kIndex, truncmod(x, y), floormod(x, y), vmin(x) >= 0 && vmin(y) >= 0),
    rule("floordiv_is_truncdiv", kFixed, floordiv(x, y), truncdiv(x, y), vmin(x) >= 0 && vmin(y) >= 0),
    rule("floormod_is_truncmod", kFixed, floormod(x, y), truncmod(x, y), vmin(x) >= 0 && vmin(y) >= 0),
    rule("div_of_product", kIndex, floordiv(x* y, y), x, vmin(y) > 0 || vmax(y) < 0),
    rule("mod_of_product", kIndex, floormod(x* y, y), 0),
    rule("div_of_multiple", kIndex, floordiv(x* c0, c1), x* val(floordiv(c0, c1)), c1 != 0 && floormod(c0, c1) == 0),
    rule("mod_of_multiple", kIndex, floormod(x* c0, c1), 0, c1 != 0 && floormod(c0, c1) == 0),
    rule("div_of_sum", kIndex, floordiv(x* c0 + y, c0), x + floordiv(y, c0), c0 != 0),
    rule("mod_of_sum", kIndex, floormod(x* c0 + y, c0), floormod(y, c0)),
    rule("nested_div", kIndex, floordiv(floordiv(x, c0), c1), floordiv(x, val(c0* c1)), c0 > 0 && c1 > 0),
    rule("nested_div_symbolic", kIndex, floordiv(floordiv(x, y), z), floordiv(x, y* z), vmin(y) > 0 && vmin(z) > 0),
    for_ops({Op::FloorMod, Op::TruncMod}, rule("mod_of_mod", kInts, op2(op2(x, y), y), op2(x, y))),
    rule("mod_shift_const", kIndex, floormod(x + c0, c1), floormod(x + val(floormod(c0, c1)), c1),
         c1 > 0 && (c0 < 0 || c0 >= c1)),
    rule("floor_recombine", kInts, floordiv(x, c0) * c0 + floormod(x, c0), x, c0 != 0),
    rule("trunc_recombine", kInts, truncdiv(x, c0) * c0 + truncmod(x, c0), x, c0 != 0),
};

}  // namespace

std::span<const Rule> divmod_rules() { return kDivmodRules; }

}  // namespace hearth::rules
