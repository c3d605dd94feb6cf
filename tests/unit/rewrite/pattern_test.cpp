// The matcher: orders of commutative operations with backtracking, repeated captures, dtypes; the printer.
#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/rewrite/order.h"
#include "compiler/rewrite/rule.h"

using namespace hearth;
using namespace hearth::rewrite;
using ir::Op;
using ir::UOpRef;
namespace dsl = hearth::rewrite::dsl;

namespace {

struct Leaves {
  ir::Graph g;
  UOpRef a = param(ir::Scalar::I32, 0), b = param(ir::Scalar::I32, 1), c = param(ir::Scalar::I32, 2);
  UOpRef param(ir::DType type, std::uint32_t slot) { return g.make(Op::Param, type, {}, ir::ParamInfo{slot}); }
  UOpRef i32(std::int64_t v) { return g.constant(ir::Scalar::I32, v); }
  UOpRef apply(const Rule& rule, UOpRef node) {
    Context context(g);
    return rewrite::apply(rule, context, node);
  }
};

}  // namespace

TEST_CASE("rules are compile-time data") {
  static constexpr Rule kRule = rule("combine_terms", kInts, dsl::x * dsl::c0 + dsl::x * dsl::c1,
                                     dsl::x * dsl::val(dsl::c0 + dsl::c1), dsl::vmin(dsl::x) > 0);
  static_assert(kRule.lhs.size() == 7);
  static_assert(kRule.rhs[0].op == Op::Mul);
  CHECK(to_string(kRule) ==
        "combine_terms: add(mul(x, c0), mul(x, c1)) -> mul(x, val(add(c0, c1))) when lt(0, vmin(x))");
}

TEST_CASE("both orders of every commutative operation are tried") {
  Leaves l;
  constexpr Rule kRule = rule("t", kInts, dsl::x * dsl::c0 + dsl::x * dsl::c1, dsl::x * dsl::val(dsl::c0 + dsl::c1));
  const UOpRef expected = l.g.mul(l.a, l.i32(5));
  for (int order = 0; order < 8; ++order) {
    auto product = [&](std::int64_t v, bool swap) { return swap ? l.g.mul(l.i32(v), l.a) : l.g.mul(l.a, l.i32(v)); };
    UOpRef p = product(2, order & 1), q = product(3, order & 2);
    if (order & 4) std::swap(p, q);
    CHECK(l.apply(kRule, l.g.add(p, q)) == expected);
  }
}

TEST_CASE("an inner choice is taken back when an outer part fails") {
  Leaves l;
  // x is bound inside the first product and must come back in the second; only b fits, found by backtracking.
  constexpr Rule kRule = rule("t", kInts, dsl::x * dsl::y - dsl::x * dsl::z, dsl::x * (dsl::y - dsl::z));
  for (auto [p, q] :
       {std::pair(l.g.mul(l.a, l.b), l.g.mul(l.c, l.b)), std::pair(l.g.mul(l.b, l.a), l.g.mul(l.c, l.b)),
        std::pair(l.g.mul(l.a, l.b), l.g.mul(l.b, l.c)), std::pair(l.g.mul(l.b, l.a), l.g.mul(l.b, l.c))}) {
    CHECK(l.apply(kRule, l.g.sub(p, q)) == l.g.mul(l.b, l.g.sub(l.a, l.c)));
  }
  CHECK(l.apply(kRule, l.g.sub(l.g.mul(l.a, l.b), l.g.mul(l.c, l.c))) == nullptr);
  // The condition is part of the search: only one order has a constant at most 3 on the left.
  constexpr Rule kSmall = rule("t", kInts, dsl::c0 + dsl::c1, dsl::c0, dsl::c0 <= 3);
  CHECK(l.apply(kSmall, l.g.add(l.i32(7), l.i32(2))) == l.i32(2));
  CHECK(l.apply(kSmall, l.g.add(l.i32(7), l.i32(8))) == nullptr);
}

TEST_CASE("a repeated capture is the same node") {
  Leaves l;
  constexpr Rule kRule = rule("t", kInts, dsl::x - dsl::x, 0);
  CHECK(l.apply(kRule, l.g.sub(l.a, l.a)) == l.i32(0));
  CHECK(l.apply(kRule, l.g.sub(l.a, l.b)) == nullptr);
}

TEST_CASE("a rule applies to the dtypes it is tagged with") {
  Leaves l;
  constexpr Rule kRule = rule("t", kUnsigned | kBool, dsl::x & dsl::x, dsl::x);
  const UOpRef u = l.param(ir::Scalar::U8, 5), s = l.param(ir::Scalar::I8, 6), b = l.param(ir::Scalar::Bool, 7);
  CHECK(l.apply(kRule, l.g.logical_and(u, u)) == u);
  CHECK(l.apply(kRule, l.g.logical_and(b, b)) == b);
  CHECK(l.apply(kRule, l.g.logical_and(s, s)) == nullptr);
}

TEST_CASE("literals take the dtype of their place; constants fold at it") {
  Leaves l;
  const UOpRef u = l.param(ir::Scalar::U8, 5), f = l.param(ir::Scalar::F32, 6);
  auto u8 = [&](std::int64_t v) { return l.g.constant(ir::Scalar::U8, v); };
  constexpr Rule kOnes = rule("t", kFixed, dsl::x & -1, dsl::x);
  CHECK(l.apply(kOnes, l.g.logical_and(u, u8(255))) == u);
  constexpr Rule kSum = rule("t", kFixed, (dsl::x + dsl::c0) + dsl::c1, dsl::x + dsl::val(dsl::c0 + dsl::c1));
  CHECK(l.apply(kSum, l.g.add(l.g.add(u, u8(200)), u8(100))) == l.g.add(u, u8(44)));
  constexpr Rule kZero = rule("t", kFloat, dsl::x - 0, dsl::x);
  CHECK(l.apply(kZero, l.g.sub(f, l.g.constant(ir::Scalar::F32, 0.0))) == f);
  CHECK(l.apply(kZero, l.g.sub(f, l.g.constant(ir::Scalar::F32, -0.0))) == nullptr);
  // An index constant that would leave int64 keeps the rule from firing.
  constexpr Rule kIndexSum = rule("t", kIndex, (dsl::x + dsl::c0) + dsl::c1, dsl::x + dsl::val(dsl::c0 + dsl::c1));
  const UOpRef n = l.g.var("n", 0, 9, 0);
  CHECK(l.apply(kIndexSum, l.g.add(l.g.add(n, l.g.index(INT64_MAX)), l.g.index(1))) == nullptr);
  CHECK(l.apply(kIndexSum, l.g.add(l.g.add(n, l.g.index(2)), l.g.index(1))) == l.g.add(n, l.g.index(3)));
}

TEST_CASE("a condition that cannot be computed is false") {
  Leaves l;
  constexpr Rule kRule =
      rule("t", kInts, dsl::x + dsl::c0, dsl::x, dsl::c0 * dsl::c0 * dsl::c0 * dsl::c0 > 0);  // beyond 128 bits
  const UOpRef x = l.param(ir::Scalar::I64, 3);
  CHECK(l.apply(kRule, l.g.add(x, l.g.constant(ir::Scalar::I64, INT64_MAX))) == nullptr);
  CHECK(l.apply(kRule, l.g.add(x, l.g.constant(ir::Scalar::I64, std::int64_t{3}))) == x);
}

TEST_CASE("the order of operands does not depend on creation") {
  for (bool first : {false, true}) {
    ir::Graph g;
    auto range = [&](std::uint32_t axis) { return g.range(g.index(4), axis, ir::RangeKind::Loop); };
    const UOpRef p = range(first ? 0 : 1), q = range(first ? 1 : 0);
    const UOpRef low = first ? p : q, high = first ? q : p;
    CHECK(compare_nodes(low, high) < 0);
    CHECK(compare_nodes(high, low) > 0);
    CHECK(compare_nodes(low, low) == 0);
    CHECK(compare_nodes(g.index(3), high) > 0);
    CHECK(compare_nodes(g.index(3), g.index(4)) < 0);
  }
}
