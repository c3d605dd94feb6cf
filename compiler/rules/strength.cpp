// Floor division and modulo of fixed widths by powers of two: a shift and a mask, right for negative values too. A
// truncating division is one only where nothing is negative. (The code generator would divide and correct.)
#include "compiler/rules/rules.h"

namespace hearth::rules {

using namespace rewrite;
using namespace rewrite::dsl;

namespace {

// val(log2(c0)) has no value, and the rule does not fire, where c0 is no power of two.
constexpr Rule kStrengthRules[] = {
    rule("floordiv_pow2", kFixed, floordiv(x, c0), shr(x, val(log2(c0)))),
    rule("truncdiv_pow2", kFixed, truncdiv(x, c0), shr(x, val(log2(c0))), vmin(x) >= 0),
    rule("floormod_pow2", kFixed, floormod(x, c0), x& val(c0 - 1), log2(c0) >= 0),
    rule("truncmod_pow2", kFixed, truncmod(x, c0), x& val(c0 - 1), vmin(x) >= 0 && log2(c0) >= 0),
    // (x >> k) * 2^k + (x & (2^k - 1))
    rule("recombine_pow2", kFixed, shr(x, c0) * c1 + (x & c2), x, log2(c1) == c0 && c2 + 1 == c1),
};

}  // namespace

std::span<const Rule> strength_rules() { return kStrengthRules; }

}  // namespace hearth::rules
