// One plan of several for parts of a range (passes/plan/alternatives), beside the reference interpreter.
#include <catch2/catch.hpp>
#include <set>

#include "compiler/compile.h"
#include "runtime/plan/expr.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;
using Values = std::vector<std::int64_t>;

HostTensor fed(const Shape& shape, std::uint64_t seed) { return uniform(Scalar::F32, shape, seed); }

// Rows times a parameter, and their sums: [n, deep] -> [n, 64], [n].
GraphBuilder rows_net(std::int64_t deep = 48) {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 8);
  const Node x = b.input(v1::F32, {n, deep}), w = b.parameter(v1::F32, {deep, 64});
  const Node y = b.op(v1::TANH, {b.op(v1::MATMUL, {x, b.op(v1::EXP, {w})})});
  b.output(y);
  b.output(b.reshape(b.reduce(v1::REDUCE_SUM, y, {1}), {n}));
  return b;
}
Feed rows_feed(std::int64_t n) { return {{fed({n, 48}, 1), fed({48, 64}, 2)}, {n}}; }

int num_once(const v1::LoweredPlan& plan) {
  return static_cast<int>(
      std::ranges::count_if(plan.plan().launches(), [](const v1::Launch& launch) { return launch.once(); }));
}

TEST_CASE("plans for parts of a range give what one plan does, at every value") {
  for (const auto& [ends, points] : std::vector<std::pair<Values, Values>>{
           {{1, 4, 8}, {}}, {{8}, {}}, {{3, 8}, {}}, {{}, {1, 4, 8}}, {{}, {5}}, {{}, {1, 2, 3, 4, 5, 6, 7, 8}}}) {
    GraphBuilder b = rows_net();
    v1::Variable& n = *b.mutable_graph().mutable_vars(0);
    n.mutable_ends()->Assign(ends.begin(), ends.end());
    n.mutable_points()->Assign(points.begin(), points.end());
    Program program(b.graph(), wide_target());
    for (const v1::Launch& launch : program.lowered().plan().launches()) {  // as readers see it, by bounds alone
      const auto grid = runtime::Expr::compile(launch.grid(), {{"n", 1, 8}});
      REQUIRE(grid.ok());
      CHECK(grid->min() >= 0);
      CHECK(grid->max() <= 64);
    }
    for (std::int64_t value = 1; value <= 8; ++value) {
      CAPTURE(ends, points, value);
      program.check(rows_feed(value), roundings(Scalar::F32, 256));
    }
  }
}

TEST_CASE("every combination of parts of two variables has a plan") {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 4), m = b.var("m", 2, 6);
  const Node x = b.input(v1::F32, {n, m, 20}), w = b.parameter(v1::F32, {20, 33});
  b.output(b.op(v1::MATMUL, {x, b.expand(b.reshape(w, {1, 20, 33}), {n, 20, 33})}));
  for (const std::int64_t end : {1, 4}) b.mutable_graph().mutable_vars(0)->add_ends(end);
  for (const std::int64_t point : {2, 5}) b.mutable_graph().mutable_vars(1)->add_points(point);
  Program program(b.graph(), wide_target());
  for (std::int64_t i = 1; i <= 4; ++i) {
    for (std::int64_t k = 2; k <= 6; ++k) {
      CAPTURE(i, k);
      program.check({{fed({i, k, 20}, 3), fed({20, 33}, 4)}, {i, k}}, roundings(Scalar::F32, 128));
    }
  }
}

TEST_CASE("a loop whose steps are of any number runs in the plan of its part only") {
  GraphBuilder b;
  const Dim steps = b.var("steps", 1, 9);
  GraphBuilder body;
  const Node state = body.input(v1::F32, {4}), slice = body.input(v1::F32, {4});
  const Node next = body.op(v1::TANH, {body.op(v1::ADD, {state, slice})});
  body.output(next);
  const Node first = b.input(v1::F32, {4}), all = b.input(v1::F32, {steps, 4});
  const std::int64_t loop = b.loop(body, steps, 1, 1, {true});
  b.output(b.loop_result(loop, 0, v1::F32, {first, all}));
  for (const std::int64_t end : {1, 5, 9}) b.mutable_graph().mutable_vars(0)->add_ends(end);
  Program program(b.graph(), wide_target());
  for (std::int64_t n = 1; n <= 9; ++n) {
    CAPTURE(n);
    program.check({{fed({4}, 5), fed({n, 4}, 6)}, {n}}, roundings(Scalar::F32, 64));
  }
}

TEST_CASE("plans of parts share packed weights, and have the kernels of exact plans", "[masks]") {
  const auto lowered = [](GraphBuilder b, const Values& points, bool exact) {
    v1::Variable& n = *b.mutable_graph().mutable_vars(0);
    if (exact) n.set_min(4), n.set_max(4);
    n.mutable_points()->Assign(points.begin(), points.end());
    const auto plan = compiler::lower(b.graph(), wide_target(), {});
    REQUIRE(plan.ok());
    return *plan;
  };
  const v1::LoweredPlan one = lowered(rows_net(512), {}, false), four = lowered(rows_net(512), {4}, true),
                        all = lowered(rows_net(512), {1, 4, 8}, false);
  std::set<std::string> symbols;
  for (const v1::KernelSpec& kernel : all.kernels()) symbols.insert(kernel.symbol());
  CHECK(symbols.size() == static_cast<std::size_t>(all.kernels_size()));
  for (const v1::LoweredPlan* plan : {&one, &four}) {
    for (const v1::KernelSpec& kernel : plan->kernels()) {
      CAPTURE(kernel.symbol());
      CHECK(symbols.contains(kernel.symbol()));
    }
  }
  REQUIRE(num_once(one) > 0);
  CHECK(num_once(all) <= 2 * num_once(one));  // one for a single row, one for several
  CHECK(all.plan().arena_bytes() == one.plan().arena_bytes());
}

TEST_CASE("ends and points that cannot be are refused with the variable's name") {
  const auto error = [](const Values& ends, const Values& points) {
    GraphBuilder b = rows_net();
    v1::Variable& n = *b.mutable_graph().mutable_vars(0);
    n.mutable_ends()->Assign(ends.begin(), ends.end());
    n.mutable_points()->Assign(points.begin(), points.end());
    return std::string(compiler::lower(b.graph(), wide_target(), {}).status().message());
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(error({4, 1, 8}, {}), Contains("variable 'n' of 1 to 8: 1 stands behind 4; values ascend, each once"));
  CHECK_THAT(error({4, 4, 8}, {}), Contains("4 stands behind 4"));
  CHECK_THAT(error({4, 9}, {}), Contains("9 lies outside of it"));
  CHECK_THAT(error({4}, {}), Contains("the last part does not end at its end"));
  CHECK_THAT(error({}, {0}), Contains("0 lies outside of it"));
  CHECK_THAT(error({8}, {4}), Contains("it has ends and points"));
  GraphBuilder b;
  b.output(b.op(v1::NEG, {b.input(v1::F32, {b.var("n", 1, 100)})}));
  for (std::int64_t value = 1; value <= 40; ++value) b.mutable_graph().mutable_vars(0)->add_points(value);
  CHECK_THAT(std::string(compiler::lower(b.graph(), wide_target(), {}).status().message()),
             Contains("parts of all variables make more than 32 plans"));
}

}  // namespace
}  // namespace hearth::conformance
