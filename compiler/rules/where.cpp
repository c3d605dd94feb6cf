// where: constant, equal and nested branches. It chooses and never computes, so a branch may always be dropped.
#include "compiler/rules/rules.h"

namespace hearth::rules {

using namespace rewrite;
using namespace rewrite::dsl;

namespace {

constexpr Rule kWhereRules[] = {
    rule("where_true", kAll, where(true, x, y), x),
    rule("where_false", kAll, where(false, x, y), y),
    rule("where_same", kAll, where(p, x, x), x),
    rule("where_not", kAll, where(!p, x, y), where(p, y, x)),
    rule("where_then_then", kAll, where(p, where(p, x, y), z), where(p, x, z)),
    rule("where_else_else", kAll, where(p, x, where(p, y, z)), where(p, x, z)),
    rule("where_and", kAll, where(p, where(q, x, y), y), where(p&& q, x, y)),
    rule("where_and_not", kAll, where(p, where(q, x, y), x), where(p && !q, y, x)),
    rule("where_or", kAll, where(p, x, where(q, x, y)), where(p || q, x, y)),
    rule("where_condition", kBool, where(p, 1, 0), p),
    rule("where_not_condition", kBool, where(p, 0, 1), !p),
    // One-hot times x; for floats 0 * x may be NaN or -0.
    rule("mul_one_hot", kInts, x* where(p, 1, 0), where(p, x, 0)),
    rule("mul_one_cold", kInts, x* where(p, 0, 1), where(p, 0, x)),
    rule("add_where_consts", kInts, where(p, c0, c1) + c2, where(p, val(c0 + c2), val(c1 + c2))),
    rule("mul_where_consts", kInts, where(p, c0, c1) * c2, where(p, val(c0* c2), val(c1* c2))),
    rule("where_is_min", kInts, where(x < y, x, y), min(x, y)),
    rule("where_is_max", kInts, where(x < y, y, x), max(x, y)),
};

}  // namespace

std::span<const Rule> where_rules() { return kWhereRules; }

}  // namespace hearth::rules
