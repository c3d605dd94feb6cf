// What gates and conditions make needless, case by case; and that it stays where they do not.
#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"

using namespace hearth;
using ir::Op;
using ir::UOpRef;

namespace {

struct Case {
  ir::Graph g;
  UOpRef i = g.range(g.index(34), 0, ir::RangeKind::Loop), k = g.range(g.index(3), 1, ir::RangeKind::Reduce),
         j = g.range(g.index(100), 2, ir::RangeKind::Loop);
  UOpRef buffer = g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{0});

  UOpRef c(std::int64_t value) { return g.index(value); }
  UOpRef simple(UOpRef e) { return rules::simplify(g, e).value(); }
  UOpRef access(UOpRef position, UOpRef gate) { return g.make(Op::Index, ir::Scalar::Void, {buffer, position, gate}); }
  // The position that a simplified access has.
  UOpRef position(UOpRef position, UOpRef gate) { return simple(access(position, gate))->source(1); }
  UOpRef both(UOpRef a, UOpRef b) { return g.logical_and(a, b); }
  // A padded convolution's row: 0 <= i + k - 2 < 32.
  UOpRef row() { return g.add(g.add(i, k), c(-2)); }
  UOpRef inside() { return both(g.lt(c(-1), row()), g.lt(row(), c(32))); }
};

}  // namespace

TEST_CASE("a gate takes modulo, division and clamps out of the index it guards") {
  Case t;
  auto& g = t.g;
  CHECK(t.position(g.floormod(t.row(), t.c(32)), t.inside()) == t.simple(t.row()));
  CHECK(t.position(g.floordiv(t.row(), t.c(32)), t.inside()) == t.c(0));
  CHECK(t.position(g.floormod(t.j, t.c(10)), g.lt(t.j, t.c(10))) == t.j);
  CHECK(t.position(g.binary(Op::Min, t.j, t.c(9)), g.lt(t.j, t.c(10))) == t.j);
  CHECK(t.position(g.binary(Op::Max, t.row(), t.c(0)), t.inside()) == t.simple(t.row()));
  CHECK(t.position(g.where(g.lt(t.j, t.c(10)), t.j, t.i), g.lt(t.j, t.c(10))) == t.j);
  // Flattened with another axis and split again.
  const UOpRef flat = g.add(g.mul(t.j, t.c(32)), t.row());
  CHECK(t.position(g.floordiv(flat, t.c(32)), t.inside()) == t.j);
  CHECK(t.position(g.floormod(flat, t.c(32)), t.inside()) == t.simple(t.row()));
  // 4q + r with 0 <= r < 4 only under the gate.
  const UOpRef r = g.add(t.k, t.c(-1)), fours = g.add(g.mul(t.j, t.c(4)), r);
  CHECK(t.position(g.floordiv(fours, t.c(12)), g.lt(t.c(0), t.k)) == t.simple(g.floordiv(t.j, t.c(3))));
}

TEST_CASE("a gate that says too little changes nothing") {
  Case t;
  auto& g = t.g;
  const UOpRef mod = g.floormod(t.j, t.c(10));
  CHECK(t.position(mod, g.lt(t.j, t.c(11))) == mod);
  CHECK(t.position(mod, g.lt(t.i, t.c(5))) == mod);
  CHECK(t.position(g.floormod(t.row(), t.c(32)), g.lt(t.row(), t.c(32)))->is(Op::FloorMod));
  CHECK(t.position(mod, g.binary(Op::Or, g.lt(t.j, t.c(10)), g.lt(t.i, t.c(5)))) == mod);
}

TEST_CASE("conditions that ranges or other conditions imply vanish") {
  Case t;
  auto& g = t.g;
  CHECK(t.simple(t.both(g.lt(t.i, t.c(34)), g.lt(t.j, t.c(7)))) == g.lt(t.j, t.c(7)));
  const UOpRef sum = g.lt(t.c(4), g.add(t.i, t.k));
  CHECK(t.simple(t.both(g.lt(t.c(4), t.i), sum)) == g.lt(t.c(4), t.i));
  CHECK(t.simple(t.both(sum, g.lt(t.c(5), t.i))) == g.lt(t.c(5), t.i));
  CHECK(t.simple(t.both(sum, g.lt(t.c(3), t.i)))->is(Op::And));
  CHECK(t.simple(t.both(g.lt(g.add(t.i, t.k), t.c(3)), g.lt(t.c(2), t.i))) == g.boolean(false));
  CHECK(t.simple(t.both(g.lt(g.add(t.i, t.k), t.c(4)), g.lt(t.c(2), t.i)))->is(Op::And));
}

TEST_CASE("branches are simplified for where they are chosen") {
  Case t;
  auto& g = t.g;
  const UOpRef small = g.lt(t.j, t.c(10));
  CHECK(t.simple(g.where(small, g.floormod(t.j, t.c(10)), t.i)) == g.where(small, t.j, t.i));
  CHECK(t.simple(g.where(small, t.i, g.binary(Op::Max, t.j, t.c(10)))) == g.where(small, t.i, t.j));
  const UOpRef kept = g.where(small, t.i, g.floormod(t.j, t.c(10)));
  CHECK(t.simple(kept) == kept);
}

TEST_CASE("a choice that the gate of the load or store makes already is dropped") {
  Case t;
  auto& g = t.g;
  const ir::DType f32(ir::Scalar::F32);
  const UOpRef a = g.lt(t.j, t.c(10)), b = g.lt(t.i, t.c(5)), zero = g.constant(f32, 0.0);
  auto load = [&](UOpRef gate) { return g.make(Op::Load, f32, {t.access(t.j, gate)}); };
  CHECK(t.simple(g.where(a, load(a), zero)) == load(a));
  CHECK(t.simple(g.where(a, load(t.both(a, b)), zero))->is(Op::Load));
  CHECK(t.simple(g.where(t.both(a, b), load(a), zero))->is(Op::Where));
  CHECK(t.simple(g.where(a, load(a), g.constant(f32, -0.0)))->is(Op::Where));
  CHECK(t.simple(g.where(a, load(a), g.constant(f32, 1.0)))->is(Op::Where));
  const UOpRef x = g.make(Op::Param, f32, {}, ir::ParamInfo{1}), y = g.make(Op::Param, f32, {}, ir::ParamInfo{2});
  auto store = [&](UOpRef gate, UOpRef value) {
    return g.make(Op::Store, ir::Scalar::Void, {t.access(t.j, gate), value, t.i, t.j});
  };
  CHECK(t.simple(store(a, g.where(a, x, y))) == store(a, x));
  CHECK(t.simple(store(b, g.where(a, x, y))) == store(b, g.where(a, x, y)));
}

TEST_CASE("bit casts: back and forth is nothing") {
  Case t;
  auto& g = t.g;
  const UOpRef x = g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{1});
  const UOpRef bits = g.make(Op::Bitcast, ir::Scalar::I32, {x});
  CHECK(t.simple(g.make(Op::Bitcast, ir::Scalar::F32, {bits})) == x);
  CHECK(t.simple(g.make(Op::Bitcast, ir::Scalar::U32, {bits})) == g.make(Op::Bitcast, ir::Scalar::U32, {x}));
  CHECK(t.simple(bits) == bits);
}

TEST_CASE("powers of two divide by shift and mask, negative values too") {
  Case t;
  auto& g = t.g;
  const UOpRef x = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{1});
  auto c = [&](int value) { return g.constant(ir::Scalar::I32, value); };
  CHECK(t.simple(g.floordiv(x, c(8))) == g.binary(Op::Shr, x, c(3)));
  CHECK(t.simple(g.floormod(x, c(8))) == g.binary(Op::And, x, c(7)));
  CHECK(t.simple(g.binary(Op::TruncDiv, x, c(8)))->is(Op::TruncDiv));  // -1 div 8 is 0
  CHECK(t.simple(g.floordiv(x, c(-8)))->is(Op::FloorDiv));
  CHECK(t.simple(g.floordiv(x, c(12)))->is(Op::FloorDiv));
}
