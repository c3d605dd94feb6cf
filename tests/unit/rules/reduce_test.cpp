// Reductions that need no loop, case by case; and those that keep theirs.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"
#include "tests/unit/rules/evaluator.h"

using namespace hearth;
using ir::Op;
using ir::ReduceKind;
using ir::Scalar;
using ir::UOpRef;

namespace {

struct ReduceCase {
  ir::Graph g;
  UOpRef n = g.var("n", 0, 50, 0);
  UOpRef i = g.range(g.index(10), 0, ir::RangeKind::Reduce), m = g.range(n, 1, ir::RangeKind::Reduce),
         j = g.range(g.index(100), 2, ir::RangeKind::Loop);

  UOpRef c(std::int64_t value) { return g.index(value); }
  UOpRef simple(UOpRef e) { return rules::simplify(g, e).value(); }
  UOpRef reduce(UOpRef value, std::vector<UOpRef> ranges, ReduceKind kind = ReduceKind::Sum) {
    ranges.insert(ranges.begin(), value);
    return g.make(Op::Reduce, value->dtype, ranges, ir::ReduceInfo{kind, {}});
  }
  UOpRef element(Scalar type, UOpRef at, UOpRef gate) {
    const UOpRef buffer = g.make(Op::Param, type, {}, ir::ParamInfo{7});
    return g.make(Op::Load, type, {g.make(Op::Index, Scalar::Void, {buffer, at, gate})});
  }
  UOpRef param(Scalar type, std::uint32_t slot = 1) { return g.make(Op::Param, type, {}, ir::ParamInfo{slot}); }
};

bool has(UOpRef root, Op op) {
  return std::ranges::any_of(ir::toposort(root), [op](UOpRef x) { return x->is(op); });
}

}  // namespace

TEST_CASE("a reduction that does not read its range needs no loop") {
  ReduceCase t;
  auto& g = t.g;
  const UOpRef x = t.param(Scalar::I32), f = t.param(Scalar::F32);
  CHECK(t.simple(t.reduce(x, {t.i})) == g.mul(x, g.constant(Scalar::I32, 10)));
  CHECK(t.simple(t.reduce(f, {t.i}, ReduceKind::Max)) == f);
  CHECK(t.simple(t.reduce(x, {t.i}, ReduceKind::Min)) == x);
  CHECK_FALSE(has(t.simple(t.reduce(x, {t.m})), Op::Reduce));
  CHECK(has(t.simple(t.reduce(x, {t.m}, ReduceKind::Max)), Op::Reduce));  // may run never
  CHECK(has(t.simple(t.reduce(f, {t.i})), Op::Reduce));                   // ten roundings are not one
  CHECK(has(t.simple(t.reduce(x, {t.i}, ReduceKind::Prod)), Op::Reduce));
  const UOpRef one = g.range(t.c(1), 3, ir::RangeKind::Reduce);
  CHECK(t.simple(t.reduce(t.element(Scalar::F32, one, g.boolean(true)), {one})) ==
        t.element(Scalar::F32, t.c(0), g.boolean(true)));
  // Only the dead one of two goes.
  const UOpRef both = t.simple(t.reduce(t.element(Scalar::I32, t.m, g.boolean(true)), {t.i, t.m}));
  CHECK(has(both, Op::Reduce));
  const std::vector<UOpRef> nodes = ir::toposort(both);
  CHECK(std::ranges::find(nodes, t.i) == nodes.end());
}

TEST_CASE("a one-hot sum is one gated load") {
  ReduceCase t;
  auto& g = t.g;
  const UOpRef yes = g.boolean(true), zero = g.constant(Scalar::F32, 0.0);
  const UOpRef row = t.element(Scalar::F32, t.i, yes);
  const UOpRef picked = t.simple(t.reduce(g.where(g.binary(Op::Eq, t.i, t.j), row, zero), {t.i}));
  // j runs to 100, the table has 10 rows; adding +0 makes of -0 what the sum would.
  CHECK(picked == g.where(g.lt(t.j, t.c(10)), g.add(t.element(Scalar::F32, t.j, g.lt(t.j, t.c(10))), zero), zero));
  // The index as a loaded integer of a fixed width, and `ne` with the branches changed.
  const UOpRef token = t.param(Scalar::I64), wide = g.cast(t.i, Scalar::I64);
  for (UOpRef value :
       {g.where(g.binary(Op::Eq, wide, token), row, zero), g.where(g.binary(Op::Ne, wide, token), zero, row)}) {
    const UOpRef gathered = t.simple(t.reduce(value, {t.i}));
    CHECK_FALSE(has(gathered, Op::Reduce));
    CHECK(has(gathered, Op::Load));
  }
  // Times a table: exact for integers, not for floats.
  const UOpRef hot = g.cast(g.binary(Op::Eq, wide, token), Scalar::I32);
  CHECK_FALSE(has(t.simple(t.reduce(g.mul(hot, t.element(Scalar::I32, t.i, yes)), {t.i})), Op::Reduce));
  const UOpRef float_hot = g.where(g.binary(Op::Eq, wide, token), g.constant(Scalar::F32, 1.0), zero);
  CHECK(has(t.simple(t.reduce(g.mul(float_hot, row), {t.i})), Op::Reduce));
  // Not a choice of one.
  CHECK(has(t.simple(t.reduce(g.where(g.lt(t.i, t.j), row, zero), {t.i})), Op::Reduce));
  CHECK(has(t.simple(t.reduce(g.where(g.binary(Op::Eq, t.i, t.j), row, zero), {t.i}, ReduceKind::Max)), Op::Reduce));
  const UOpRef u8 = g.cast(g.mul(t.i, t.c(100)), Scalar::U8);  // wraps: may be equal twice
  CHECK(has(t.simple(t.reduce(g.where(g.binary(Op::Eq, u8, t.param(Scalar::U8)), row, zero), {t.i})), Op::Reduce));
}

TEST_CASE("integer sums of linear terms over an interval have closed forms") {
  ReduceCase t;
  auto& g = t.g;
  const UOpRef x = t.param(Scalar::I32), zero = g.constant(Scalar::I32, 0);
  CHECK(t.simple(t.reduce(g.cast(t.i, Scalar::I32), {t.i})) == g.constant(Scalar::I32, 45));
  CHECK(t.simple(t.reduce(g.cast(t.i, Scalar::I8), {g.range(t.c(10), 0, ir::RangeKind::Reduce)})) ==
        g.constant(Scalar::I8, 45));
  // sum of where(i < k, x, 0) is x * clamp(k, 0, 10).
  const UOpRef clamped = t.simple(t.reduce(g.where(g.lt(t.i, t.j), x, zero), {t.i}));
  CHECK(clamped == t.simple(g.mul(x, g.cast(g.binary(Op::Min, t.j, t.c(10)), Scalar::I32))));
  // Triangles with symbolic sizes, against the sum by hand.
  const UOpRef linear = g.add(g.mul(g.cast(t.m, Scalar::I64), t.param(Scalar::I64)), g.constant(Scalar::I64, 3));
  const UOpRef sum = t.simple(t.reduce(g.where(g.le(t.m, t.j), linear, g.constant(Scalar::I64, 0)), {t.m}));
  REQUIRE_FALSE(has(sum, Op::Reduce));
  for (std::int64_t size : {0, 1, 7, 50}) {
    for (std::int64_t limit : {0, 3, 60}) {
      std::int64_t expected = 0;
      for (std::int64_t k = 0; k < size && k <= limit; ++k) expected += k * 5 + 3;
      CHECK(test::evaluate(sum, {{t.n, size}, {t.j, limit}, {t.param(Scalar::I64), 5}}) == expected);
    }
  }
  // An interval from a symbolic start that may lie behind its end.
  const UOpRef part = g.logical_and(g.lt(t.n, t.i), g.lt(t.i, t.j));
  const UOpRef between = t.simple(t.reduce(g.where(part, x, zero), {t.i}));
  REQUIRE_FALSE(has(between, Op::Reduce));
  CHECK(test::evaluate(between, {{t.n, 2}, {t.j, 6}, {x, 7}}) == 3 * 7);
  CHECK(test::evaluate(between, {{t.n, 6}, {t.j, 2}, {x, 7}}) == 0);
  CHECK(test::evaluate(between, {{t.n, 40}, {t.j, 99}, {x, 7}}) == 0);
  // Floats keep their loop, and so do squares.
  CHECK(has(t.simple(t.reduce(g.cast(t.i, Scalar::F32), {t.i})), Op::Reduce));
  CHECK(has(t.simple(t.reduce(g.cast(g.mul(t.i, t.i), Scalar::I32), {t.i})), Op::Reduce));
}
