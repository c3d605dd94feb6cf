// Rule functions: each is fired on random expressions and compared at many points, also with its result spoiled;
// movement rules on small tensors by following every element; and what reshape chains leave behind must come out
// simple.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "compiler/ir/text.h"
#include "tests/fuzz/simplify/generator.h"
#include "tests/unit/rules/evaluator.h"
#include "tests/unit/rules/families.h"
#include "tests/unit/rules/report.h"

using namespace hearth;
using namespace hearth::test;
using ir::Op;
using ir::UOpRef;

namespace {

// Compares two expressions at points where the first has a value: how many agreed, -1 when one differs, the second
// reads outside a buffer or one of its nodes leaves its bounds.
int compare(UOpRef node, UOpRef result, Generator& generator, int num_points = 16) {
  int points = 0;
  for (int point = 0; point < num_points; ++point) {
    Assignment leaves;
    const bool edges = point % 2 == 0;
    auto next = [&](std::uint64_t n) { return edges && n > 0 ? (generator.below(2) ? 0 : n - 1) : generator.below(n); };
    if (!assign(node, leaves, next) || !assign(result, leaves, next)) continue;
    Evaluator before(leaves, generator.buffer_sizes()), after(leaves, generator.buffer_sizes());
    const auto expected = observe(before, node);
    if (!expected || before.outside() != nullptr) continue;
    if (observe(after, result) != expected || after.outside() != nullptr || after.unsound() != nullptr) {
      UNSCOPED_INFO(ir::print(node) << "became\n" << ir::print(result));
      return -1;
    }
    ++points;
  }
  return points;
}

// A wrong result: one operation or constant that the rule put there, changed. Null: nothing to change.
UOpRef spoil(ir::Graph& graph, UOpRef node, UOpRef result, Generator& generator) {
  static const std::map<Op, Op> others = {{Op::Add, Op::Sub},
                                          {Op::Sub, Op::Add},
                                          {Op::Mul, Op::Add},
                                          {Op::And, Op::Or},
                                          {Op::Or, Op::And},
                                          {Op::Max, Op::Min},
                                          {Op::Min, Op::Max},
                                          {Op::Lt, Op::Le},
                                          {Op::Le, Op::Lt},
                                          {Op::Eq, Op::Ne},
                                          {Op::Ne, Op::Eq},
                                          {Op::Shr, Op::Shl},
                                          {Op::FloorDiv, Op::FloorMod},
                                          {Op::FloorMod, Op::FloorDiv}};
  const std::vector<UOpRef> old = ir::toposort(node);
  std::vector<std::pair<UOpRef, UOpRef>> changes;
  for (UOpRef part : ir::toposort(result)) {
    if (std::ranges::find(old, part) != old.end()) continue;
    if (part->is_const() && !ir::is_float(part->dtype)) {
      changes.emplace_back(
          part, graph.constant(part->dtype, ir::is_bool(part->dtype) ? 1 - part->int_value() : part->int_value() + 1));
    } else if (auto other = others.find(part->op); other != others.end()) {
      if (ir::is_bool(part->source(0)->dtype) && part->op != Op::And && part->op != Op::Or) continue;
      changes.emplace_back(part, graph.make(other->second, part->dtype, part->sources, part->payload));
    } else if (part->is(Op::Where)) {
      changes.emplace_back(part, graph.where(part->source(0), part->source(2), part->source(1)));
    }
  }
  if (changes.empty()) {  // a part of the old expression alone: another part instead
    for (UOpRef part : old) {
      if (part->dtype == result->dtype && part != result && part != node) changes.emplace_back(result, part);
    }
  }
  if (changes.empty()) return nullptr;
  return ir::substitute(graph, result, std::span(&changes[generator.below(changes.size())], 1));
}

// Roots that give every family something to do.
UOpRef random_root(ir::Graph& graph, Generator& generator, std::uint64_t seed) {
  if (seed % 7 == 0) return generator.value(ir::Scalar::Bool, 4);
  if (seed % 5 == 0) {
    const UOpRef wide = graph.cast(generator.value(ir::Scalar::Bool, 1), ir::Scalar::I32);
    return graph.binary(seed % 2 ? Op::Ne : Op::Eq, wide, graph.constant(ir::Scalar::I32, 0));
  }
  if (seed % 3 == 0) return generator.any_expression(3);
  const UOpRef root = seed % 2 ? generator.index(3) : generator.expression(3);
  return seed % 11 == 0 ? graph.make(Op::Cast, root->dtype, {root}) : root;
}

struct Tally {
  int fired = 0, spoiled = 0, caught = 0;
};

// The function alone, on every node of random expressions, until it has fired often enough.
Tally check_function(const rewrite::Rule& rule) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 60000 && tally.fired < 150; ++seed) {
    ir::Graph graph;
    rewrite::Context context(graph);
    Generator generator(graph, seed);
    const UOpRef root = random_root(graph, generator, seed);
    for (UOpRef node : ir::toposort(root)) {
      if (rule.lhs[0].kind == rewrite::NodeKind::AnySources && !node->is(rule.lhs[0].op)) continue;
      const UOpRef result = rewrite::apply(rule, context, node);
      if (result == nullptr) continue;
      const int points = compare(node, result, generator);
      INFO(rule.name);
      REQUIRE(points >= 0);
      if (points == 0) continue;
      ++tally.fired;
      const UOpRef wrong = spoil(graph, node, result, generator);
      if (wrong == nullptr || wrong == result) continue;
      ++tally.spoiled;
      tally.caught += compare(node, wrong, generator, 64) < 0;
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("rule functions keep the value of random instances, and changed results do not") {
  int checked = 0;
  Tally total;
  for (const Family& family : families()) {
    if (family.name == "movement" || family.name == "vector") continue;  // below, and movement_test
    for (const rewrite::Rule& rule : family.rules) {
      if (rule.fn == nullptr || rule.lhs[0].op == Op::Bitcast) continue;  // gate_test
      const Tally tally = check_function(rule);
      INFO(rule.name << " fired on " << tally.fired << " instances, " << tally.caught << " of " << tally.spoiled
                     << " changed results caught");
      CHECK(tally.fired >= 20);
      // The rest make no difference at the points tried: a gate that is seldom true, a test that bounds decide, 0 * x.
      CHECK(tally.caught * 3 >= tally.spoiled);
      ++checked;
      total.fired += tally.fired;
      total.spoiled += tally.spoiled;
      total.caught += tally.caught;
    }
  }
  report("function rules at points: " + std::to_string(checked) + " rules, " + std::to_string(total.fired) +
         " random instances; " + std::to_string(total.caught) + " of " + std::to_string(total.spoiled) +
         " spoiled results caught");
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
