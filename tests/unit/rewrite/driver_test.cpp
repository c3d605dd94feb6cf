// Drivers: fix-point, one pass, the budget, depth and speed.
#include <catch2/catch.hpp>

#include <chrono>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"

using namespace hearth;
using namespace hearth::rewrite;
using ir::Op;
using ir::UOpRef;
namespace dsl = hearth::rewrite::dsl;

TEST_CASE("rules that undo each other use up the budget, which names them") {
  static constexpr Rule kRules[] = {rule("to_mul", kInts, dsl::x + dsl::x, dsl::x * 2),
                                    rule("to_add", kInts, dsl::x * 2, dsl::x + dsl::x)};
  const RuleSet rules({kRules});
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0});
  const auto result = rewrite::rewrite(g, g.add(p, p), rules, {.max_rewrites = 100});
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == absl::StatusCode::kResourceExhausted);
  const std::string message(result.status().message());
  INFO(message);
  CHECK(message.find("did not end within 100 rewrites at ") != std::string::npos);
  CHECK(message.find("last rules fired: ") != std::string::npos);
  CHECK(message.find("to_mul, to_add") != std::string::npos);
}

TEST_CASE("a rule that grows its own node ends at the budget too") {
  static constexpr Rule kRules[] = {rule("grow", kInts, -dsl::x, -(-(-dsl::x)))};
  const RuleSet rules({kRules});
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0});
  CHECK(rewrite::rewrite(g, g.unary(Op::Neg, p), rules, {.max_rewrites = 1000}).status().code() ==
        absl::StatusCode::kResourceExhausted);
}

TEST_CASE("rewrite reaches a fix-point, walk makes one pass") {
  static constexpr Rule kRules[] = {
      rule("halve", kInts, dsl::floordiv(dsl::floordiv(dsl::x, 2), 2), dsl::floordiv(dsl::x, 4)),
      rule("quarter", kInts, dsl::floordiv(dsl::x, 4), dsl::x - 1)};
  const RuleSet rules({kRules});
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0});
  auto c = [&](std::int64_t v) { return g.constant(ir::Scalar::I32, v); };
  const UOpRef e = g.floordiv(g.floordiv(p, c(2)), c(2));
  std::vector<std::uint64_t> fired;
  CHECK(rewrite::rewrite(g, e, rules, {.fire_counts = &fired}).value() == g.sub(p, c(1)));
  CHECK(fired == std::vector<std::uint64_t>{1, 1});
  CHECK(walk(g, e, rules).value() == g.floordiv(p, c(4)));
}

TEST_CASE("rules are tried in declared order, wildcards included") {
  static constexpr Rule kFirst[] = {rule_fn("any", dsl::x,
                                            [](Context& c, UOpRef node, const Match&) -> UOpRef {
                                              return node->is(Op::Neg) ? c.graph.constant(node->dtype, 1) : nullptr;
                                            }),
                                    rule("neg", kInts, -dsl::x, dsl::x)};
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0});
  CHECK(rewrite::rewrite(g, g.unary(Op::Neg, p), RuleSet({kFirst})).value() == g.constant(ir::Scalar::I32, 1));
  CHECK(rewrite::rewrite(g, g.unary(Op::Neg, p), RuleSet({std::span(kFirst).subspan(1), kFirst})).value() == p);
}

static int times_seen = 0;

TEST_CASE("what a rule set has simplified in a graph it does not look at again, unless what fires is counted") {
  static constexpr Rule kSee[] = {rule_fn("see", -dsl::x, [](Context&, UOpRef, const Match&) -> UOpRef {
    ++times_seen;
    return nullptr;
  })};
  const RuleSet rules({kSee}), same({kSee});
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0}), negated = g.unary(Op::Neg, p);
  times_seen = 0;
  CHECK(rewrite::rewrite(g, negated, rules).value() == negated);
  CHECK(rewrite::rewrite(g, g.add(negated, p), rules).ok());
  CHECK(times_seen == 1);
  CHECK(rewrite::rewrite(g, negated, same).ok());
  CHECK(times_seen == 2);
  std::vector<std::uint64_t> fired;
  CHECK(rewrite::rewrite(g, negated, rules, {.fire_counts = &fired}).ok());
  CHECK(times_seen == 3);
}

TEST_CASE("depth is no limit and shared nodes are rewritten once") {
  ir::Graph g;
  UOpRef x = g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{0});
  const UOpRef p = x;
  for (int i = 0; i < 100000; ++i) x = g.mul(g.unary(Op::Neg, g.unary(Op::Neg, x)), g.constant(ir::Scalar::F32, 1.0));
  CHECK(rules::simplify(g, x).value() == p);
  UOpRef shared = p;  // 2^200 paths
  for (int i = 0; i < 200; ++i) shared = g.add(shared, g.mul(shared, g.constant(ir::Scalar::F32, 1.0)));
  const UOpRef simple = rules::simplify(g, shared).value();
  CHECK(ir::toposort(simple).size() == 201);
}

TEST_CASE("provenance of a replaced node passes to its replacement") {
  ir::Graph g;
  const UOpRef p = g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0});
  const std::uint32_t set = g.provenance_set({"model.py:7"});
  UOpRef e;
  {
    ir::ProvenanceScope scope(g, set);
    e = g.add(p, p);
  }
  const UOpRef simple = rules::simplify(g, e).value();
  REQUIRE(simple == g.mul(p, g.constant(ir::Scalar::I32, 2)));
  CHECK(g.provenance_texts(simple->provenance) == std::vector<std::string>{"model.py:7"});
}
