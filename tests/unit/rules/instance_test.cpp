// Rule functions: each is fired on random expressions and compared at many points; movement rules on small tensors by
// following every element; and what reshape chains leave behind must come out simple.
#include <catch2/catch.hpp>

#include <iostream>

#include "compiler/ir/text.h"
#include "tests/fuzz/simplify/generator.h"
#include "tests/unit/rules/evaluator.h"
#include "tests/unit/rules/families.h"

using namespace hearth;
using namespace hearth::test;
using ir::Op;
using ir::UOpRef;

namespace {

// The function alone at `node`; how many points agreed, -1 when one differs.
int check_instance(const rewrite::Rule& rule, rewrite::Context& context, UOpRef node, Generator& generator) {
  const UOpRef result = rewrite::apply(rule, context, node);
  if (result == nullptr) return 0;
  int points = 0;
  for (int point = 0; point < 16; ++point) {
    Assignment leaves;
    const bool edges = point % 2 == 0;
    auto next = [&](std::uint64_t n) { return edges && n > 0 ? (generator.below(2) ? 0 : n - 1) : generator.below(n); };
    if (!assign(node, leaves, next) || !assign(result, leaves, next)) continue;
    const auto expected = evaluate(node, leaves), actual = evaluate(result, leaves);
    if (!expected) continue;
    if (!actual || *actual != *expected) {
      UNSCOPED_INFO(ir::print(node) << "became\n" << ir::print(result));
      return -1;
    }
    ++points;
  }
  return points;
}

}  // namespace

TEST_CASE("rule functions keep the value of random instances") {
  int checked = 0;
  std::uint64_t total = 0;
  for (const Family& family : families()) {
    if (family.name == "movement" || family.name == "vector") continue;  // below
    for (const rewrite::Rule& rule : family.rules) {
      if (rule.fn == nullptr || rule.lhs[0].op == Op::Bitcast) continue;
      int fired = 0;
      for (std::uint64_t seed = 0; seed < 40000 && fired < 150; ++seed) {
        ir::Graph graph;
        rewrite::Context context(graph);
        Generator generator(graph, seed);
        // Sub-expressions are simplified first, as the driver does it.
        UOpRef root = seed % 2 ? generator.index(3) : generator.expression(3);
        if (seed % 7 == 0) root = generator.value(ir::Scalar::Bool, 4);
        if (seed % 5 == 0) {
          const UOpRef wide = graph.cast(generator.value(ir::Scalar::Bool, 1), ir::Scalar::I32);
          root = graph.binary(seed % 2 ? Op::Ne : Op::Eq, wide, graph.constant(ir::Scalar::I32, 0));
        }
        if (seed % 11 == 0) root = graph.make(Op::Cast, root->dtype, {root});
        for (UOpRef node : ir::toposort(root)) {
          if (rule.lhs[0].kind == rewrite::NodeKind::AnyOf && !node->is(rule.lhs[0].op)) continue;
          const int points = check_instance(rule, context, node, generator);
          INFO(rule.name);
          REQUIRE(points >= 0);
          fired += points > 0;
          total += static_cast<std::uint64_t>(points);
        }
      }
      INFO(rule.name << " fired on " << fired << " instances");
      CHECK(fired >= 20);
      ++checked;
    }
  }
  std::cout << "rule functions checked on instances: " << checked << ", " << total << " points\n";
}

TEST_CASE("index expressions of reshape, permute and flatten chains come out simple") {
  ir::Graph g;
  auto loop = [&](std::int64_t size, std::uint32_t axis) { return g.range(g.index(size), axis, ir::RangeKind::Loop); };
  auto c = [&](std::int64_t value) { return g.index(value); };
  auto simple = [&](UOpRef e) { return rules::simplify(g, e).value(); };
  const UOpRef i = loop(10, 0), j = loop(64, 1), a = loop(2, 2), b = loop(3, 3), k = loop(5, 4);
  const UOpRef flat = g.add(g.mul(i, c(64)), j);
  CHECK(simple(g.floordiv(flat, c(64))) == i);
  CHECK(simple(g.floormod(flat, c(64))) == j);
  const UOpRef three = g.add(g.mul(g.add(g.mul(a, c(3)), b), c(5)), k);
  CHECK(simple(g.floordiv(three, c(15))) == a);
  CHECK(simple(g.floordiv(g.floormod(three, c(15)), c(5))) == b);
  CHECK(simple(g.floormod(g.floordiv(three, c(5)), c(3))) == b);
  CHECK(simple(g.floormod(three, c(5))) == k);
  CHECK(simple(g.lt(three, c(30))) == g.boolean(true));
  CHECK(simple(g.floordiv(flat, c(128))) == simple(g.floordiv(i, c(2))));
  CHECK(simple(g.add(g.mul(g.floordiv(j, c(7)), c(7)), g.floormod(j, c(7)))) == j);
  CHECK(simple(g.add(g.mul(g.floormod(g.floordiv(j, c(4)), c(8)), c(4)), g.floormod(j, c(4)))) == g.floormod(j, c(32)));
  CHECK(simple(g.add(i, c(1))) == simple(g.add(c(1), i)));
  CHECK(simple(g.add(i, loop(1, 9))) == i);
  CHECK(simple(g.lt(g.add(g.mul(i, c(4)), loop(4, 5)), c(12))) == g.lt(i, c(3)));
}

TEST_CASE("symbolic sizes are compared by structure") {
  ir::Graph g;
  const UOpRef n = g.var("n", 1, 1000, 0), m = g.var("m", 1, 1000, 1);
  const UOpRef i = g.range(g.index(10), 0, ir::RangeKind::Loop), j = g.range(n, 1, ir::RangeKind::Loop),
               k = g.range(m, 2, ir::RangeKind::Loop);
  auto simple = [&](UOpRef e) { return rules::simplify(g, e).value(); };
  const UOpRef two = g.add(g.mul(i, n), j);
  CHECK(simple(g.floordiv(two, n)) == i);
  CHECK(simple(g.floormod(two, n)) == j);
  const UOpRef three = g.add(g.mul(g.add(g.mul(i, m), k), n), j);
  CHECK(simple(g.floordiv(three, g.mul(m, n))) == i);
  CHECK(simple(g.floormod(g.floordiv(three, n), m)) == k);
  CHECK(simple(g.floormod(three, n)) == j);
  CHECK(simple(g.floormod(three, g.mul(n, m))) == simple(g.add(g.mul(k, n), j)));
  CHECK(simple(g.lt(g.add(g.mul(k, n), j), g.mul(n, m))) == g.boolean(true));
  // Not provable: the size differs.
  CHECK(simple(g.floordiv(g.add(g.mul(i, m), j), m)) != i);
  CHECK(simple(g.floormod(j, m)) != j);
}

TEST_CASE("vector rules") {
  ir::Graph g;
  const ir::DType f32(ir::Scalar::F32);
  const UOpRef p = g.make(Op::Param, f32, {}, ir::ParamInfo{0}), q = g.make(Op::Param, f32, {}, ir::ParamInfo{1});
  auto simple = [&](UOpRef e) { return rules::simplify(g, e).value(); };
  const UOpRef both = g.make(Op::Stack, f32.with_lanes(2), {p, q});
  CHECK(simple(g.make(Op::Extract, f32, {both}, ir::LaneInfo{1})) == q);
  CHECK(simple(g.make(Op::Stack, f32.with_lanes(2), {p, p})) == g.make(Op::Broadcast, f32.with_lanes(2), {p}));
  const UOpRef pp = g.make(Op::Broadcast, f32.with_lanes(4), {p}), qq = g.make(Op::Broadcast, f32.with_lanes(4), {q});
  CHECK(simple(g.mul(pp, qq)) == g.make(Op::Broadcast, f32.with_lanes(4), {g.mul(p, q)}));
  CHECK(simple(g.mul(pp, g.constant(f32.with_lanes(4), 1.0))) == pp);
  const UOpRef vector = g.make(Op::Load, f32.with_lanes(2), {g.make(Op::Index, ir::Scalar::Void, {p, g.index(0)})});
  const UOpRef lane0 = g.make(Op::Extract, f32, {vector}, ir::LaneInfo{0}),
               lane1 = g.make(Op::Extract, f32, {vector}, ir::LaneInfo{1});
  CHECK(simple(g.make(Op::Stack, f32.with_lanes(2), {lane0, lane1})) == vector);
  CHECK(simple(g.make(Op::Stack, f32.with_lanes(2), {lane1, lane0})) != vector);
}
