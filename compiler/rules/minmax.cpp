// max and min: equal operands, bounds, absorption, common addends. For floats only what keeps NaN.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kMinmaxRules[] = {
    for_ops({Op::Max, Op::Min}, rule("minmax_self", kAll, op2(x, x), x)),
    rule("max_by_bounds", kInts | kBool, max(x, y), x, vmin(x) >= vmax(y)),
    rule("min_by_bounds", kInts | kBool, min(x, y), x, vmax(x) <= vmin(y)),
    rule("minmax_absorb", kInts | kBool, any_of(max(x, min(x, y)), min(x, max(x, y))), x),
    for_ops({Op::Max, Op::Min}, rule("minmax_again", kAll, op2(x, op2(x, y)), op2(x, y))),
    rule("clamp_min", kInts, min(max(x, c0), c1), c1, c1 <= c0),
    rule("clamp_max", kInts, max(min(x, c0), c1), c1, c0 <= c1),
    for_ops({Op::Max, Op::Min}, rule("minmax_common_const", kIndex, op2(x + c0, y + c0), op2(x, y) + c0)),
    rule("max_same_base", kIndex, max(x, x + c0), x + val(max(c0, 0))),
    rule("min_same_base", kIndex, min(x, x + c0), x + val(min(c0, 0))),
    rule("max_two_offsets", kIndex, max(x + c0, x + c1), x + val(max(c0, c1))),
    rule("min_two_offsets", kIndex, min(x + c0, x + c1), x + val(min(c0, c1))),
    rule("lt_min", kInts, c0 < min(x, c1), c0 < x, c0 < c1),
    rule("max_lt", kInts, max(x, c0) < c1, x < c1, c0 < c1),
    rule("neg_min", kIndex, min(-x, -y), -max(x, y)),
    rule("neg_max", kIndex, max(-x, -y), -min(x, y)),
};

}  // namespace

std::span<const Rule> minmax_rules() { return kMinmaxRules; }

}  // namespace hearth::rules
