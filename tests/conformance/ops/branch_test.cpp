// What one bool chooses between: both branches are right for both values, and a replay runs the kernels of one alone.
#include <catch2/catch.hpp>
#include <set>

#include "proto/versions.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

constexpr std::int64_t kWidth = 48;  // of a square product: more operations than launches cost

HostTensor one_bool(bool value) { return HostTensor::from_ints(Scalar::Bool, {}, std::vector<std::int64_t>{value}); }

// Where the bool `condition` is true a, else b.
Node chosen(GraphBuilder& b, Node condition, Node yes, Node no, const Dims& shape) {
  const Dims ones(shape.size(), 1);
  return b.op(v1::WHERE, {b.expand(b.reshape(condition, ones), shape), yes, no});
}

struct Square {
  GraphBuilder b;
  const Dims shape = {kWidth, kWidth};
  const Node condition = b.input(v1::BOOL, {}), x = b.input(v1::F32, shape), w = b.parameter(v1::F32, shape);

  Node times(Node a, Node c) { return b.op(v1::MATMUL, {a, c}); }
  std::vector<Feed> feeds(std::size_t more = 0) const {
    std::vector<Feed> feeds;
    for (const bool value : {true, false}) {
      Feed& feed = feeds.emplace_back();
      feed.inputs = {one_bool(value), uniform(Scalar::F32, {kWidth, kWidth}),
                     uniform(Scalar::F32, {kWidth, kWidth}, 2)};
      for (std::size_t i = 0; i < more; ++i) feed.inputs.push_back(one_bool(i % 2 == 0));
    }
    return feeds;
  }
};

// Launches that are run where the plan's bools are true, and where they are false; those that always are in both.
std::set<bool> conditions_of(const Program& program) {
  std::set<bool> values;
  for (const v1::Launch& launch : program.lowered().plan().launches())
    for (const v1::LaunchCondition& condition : launch.run_if()) values.insert(condition.value());
  return values;
}

void check_both(const GraphBuilder& b, const std::vector<Feed>& feeds, const std::set<bool>& conditional,
                const v1::Target& target = on_gpu() ? gpu_target() : host_target()) {
  Program program(b.graph(), target);
  for (const Feed& feed : feeds) program.check(feed, roundings(Scalar::F32, 2000));
  if (!on_gpu()) CHECK(conditions_of(program) == conditional);
}

const std::set<bool> kBoth = {false, true}, kNone = {};

TEST_CASE("branches: each of two products is launched for its own value of the bool alone") {
  Square s;
  const Node yes = s.times(s.b.op(v1::NEG, {s.times(s.x, s.w)}), s.w), no = s.b.op(v1::TANH, {s.times(s.w, s.x)});
  s.b.output(s.b.op(v1::NEG, {chosen(s.b, s.condition, yes, no, s.shape)}));
  check_both(s.b, s.feeds(), kBoth);
  for (const v1::Target& target : {baseline_target(), wide_target(), threaded_target()})
    check_both(s.b, s.feeds(), kBoth, target);
}

TEST_CASE("branches: one that is an input, or a few operations, leaves the other one conditional") {
  Square s;
  s.b.output(chosen(s.b, s.condition, s.times(s.x, s.w), s.x, s.shape));
  check_both(s.b, s.feeds(), kBoth);
  Square cheap;
  cheap.b.output(chosen(cheap.b, cheap.condition, cheap.b.op(v1::NEG, {cheap.x}), cheap.w, cheap.shape));
  check_both(cheap.b, cheap.feeds(), kNone);
}

TEST_CASE("branches: what both of them or an output need, too, is always computed") {
  Square s;
  const Node shared = s.times(s.x, s.w);
  s.b.output(chosen(s.b, s.condition, s.times(shared, s.w), s.times(s.w, shared), s.shape));
  s.b.output(shared);
  check_both(s.b, s.feeds(), kBoth);
  Square only;
  const Node used_twice = only.times(only.x, only.w);
  only.b.output(chosen(only.b, only.condition, used_twice, only.x, only.shape));
  only.b.output(used_twice);
  check_both(only.b, only.feeds(), kNone);
}

TEST_CASE("branches: a bool that is computed, of values that its own branches use, too") {
  GraphBuilder b;
  const Dims shape = {kWidth, kWidth};
  const Node x = b.input(v1::F32, shape), w = b.parameter(v1::F32, shape);
  const Node product = b.op(v1::MATMUL, {x, w});
  const Node mean = b.reduce(v1::REDUCE_SUM, product, {0, 1});
  const Node positive = b.op(v1::LT, {b.fill(v1::F32, {0, 0}, {1, 1}), mean});
  const Node yes = b.op(v1::MATMUL, {product, w}), no = b.op(v1::EXP, {b.op(v1::MATMUL, {w, w})});
  b.output(chosen(b, positive, yes, no, shape));
  const HostTensor weights = uniform(Scalar::F32, {kWidth, kWidth}, 2);
  HostTensor up = uniform(Scalar::F32, {kWidth, kWidth}), down = up;
  for (std::int64_t i = 0; i < up.num_elements(); ++i) down.set(i, codegen::reference::Element::of_float(-up.get(i).f));
  check_both(b, {{{up, weights}, {}}, {{down, weights}, {}}}, kBoth);
}

TEST_CASE("branches: a choice within a branch of another one, of two bools and of the same") {
  Square s;
  const Node other = s.b.input(v1::BOOL, {});
  const Node inner = chosen(s.b, other, s.times(s.x, s.w), s.times(s.w, s.x), s.shape);
  s.b.output(chosen(s.b, s.condition, s.times(inner, s.w), s.times(s.x, s.x), s.shape));
  std::vector<Feed> feeds = s.feeds(1);
  for (Feed feed : s.feeds()) {
    feed.inputs.push_back(one_bool(false));
    feeds.push_back(feed);
  }
  check_both(s.b, feeds, kBoth);
  Square same;
  const Node within =
      chosen(same.b, same.condition, same.times(same.x, same.w), same.times(same.w, same.x), same.shape);
  same.b.output(chosen(same.b, same.condition, same.times(within, same.w), same.x, same.shape));
  check_both(same.b, same.feeds(), kBoth);
}

TEST_CASE("branches: several results of one bool, of other lengths and types") {
  Square s;
  const Node yes = s.times(s.x, s.w), no = s.times(s.w, s.x);
  s.b.output(chosen(s.b, s.condition, yes, no, s.shape));
  const Dims row = {1, kWidth};
  s.b.output(chosen(s.b, s.condition, s.b.reduce(v1::REDUCE_MAX, yes, {0}), s.b.reduce(v1::REDUCE_MAX, no, {0}), row));
  s.b.output(chosen(s.b, s.condition, s.b.cast(s.times(yes, s.x), v1::I32), s.b.cast(s.x, v1::I32), s.shape));
  Program program(s.b.graph());
  for (const Feed& feed : s.feeds()) {
    const std::string what =
        program.disagreement(feed, {roundings(Scalar::F32, 2000), roundings(Scalar::F32, 2000), Tolerance{0, 1}});
    // A sum near a whole number may be truncated to its neighbour.
    if (what.find("output 2") == std::string::npos) CHECK(what == "");
  }
  if (!on_gpu()) CHECK(conditions_of(program) == kBoth);
}

TEST_CASE("branches: half precision, and lengths that vary") {
  for (const Scalar dtype : {Scalar::F16, Scalar::BF16}) {
    GraphBuilder b;
    const Dims shape = {64, 64};
    const Node condition = b.input(v1::BOOL, {1}), x = b.input(wire(dtype), shape), w = b.parameter(wire(dtype), shape);
    b.output(chosen(b, condition, b.op(v1::MATMUL, {x, w}), b.op(v1::MATMUL, {w, x}), shape));
    Program program(b.graph());
    for (const bool value : {true, false}) {
      HostTensor stored = one_bool(value);
      stored.shape = {1};
      program.check({{stored, ramp(dtype, {64, 64}), ramp(dtype, {64, 64}, 2, 3)}, {}}, roundings(dtype, 8));
    }
    if (!on_gpu()) CHECK(conditions_of(program) == kBoth);
  }
  GraphBuilder b;
  const Dim n = b.var("n", 1, 60);
  const Node condition = b.input(v1::BOOL, {}), x = b.input(v1::F32, {n, 48}), w = b.parameter(v1::F32, {48, 48});
  const Node yes = b.op(v1::MATMUL, {x, w});
  b.output(chosen(b, condition, b.op(v1::MATMUL, {yes, w}), b.op(v1::EXP, {yes}), {n, 48}));
  Program program(b.graph());
  for (const std::int64_t length : {1, 7, 60}) {
    for (const bool value : {true, false})
      program.check(
          {{one_bool(value), uniform(Scalar::F32, {length, 48}), uniform(Scalar::F32, {48, 48}, 2)}, {length}},
          roundings(Scalar::F32, 2000));
  }
  if (!on_gpu()) CHECK(conditions_of(program).contains(true));
}

TEST_CASE("branches: a plan of parts of a range, in some of which a branch is worth launches of its own") {
  for (const std::vector<std::int64_t>& points : {std::vector<std::int64_t>{1}, {1, 60}, {60}}) {
    GraphBuilder b;
    const Dim n = b.var("n", 1, 60);
    b.mutable_graph().mutable_vars(0)->mutable_points()->Assign(points.begin(), points.end());
    const Node condition = b.input(v1::BOOL, {}), x = b.input(v1::F32, {n, 48}), w = b.parameter(v1::F32, {48, 48});
    b.output(chosen(b, condition, b.op(v1::MATMUL, {x, w}), b.op(v1::EXP, {x}), {n, 48}));
    Program program(b.graph());
    for (const std::int64_t length : {1, 7, 60}) {
      for (const bool value : {true, false})
        program.check(
            {{one_bool(value), uniform(Scalar::F32, {length, 48}), uniform(Scalar::F32, {48, 48}, 2)}, {length}},
            roundings(Scalar::F32, 400));
    }
    if (on_gpu()) continue;
    CHECK(conditions_of(program) == kBoth);
    CHECK(program.lowered().plan().version() == kConditionalPlanVersion);
  }
}

// Products, sums and choices by three bools, one of which is computed, of whatever was made before.
TEST_CASE("branches: random nets of products and choices are right for all values of their bools") {
  int conditional = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    Square s;
    GraphBuilder& b = s.b;
    const Node second = b.input(v1::BOOL, {}), sum = b.reduce(v1::REDUCE_SUM, s.x, {0, 1});
    const std::vector<Node> bools = {s.condition, second, b.op(v1::LT, {b.fill(v1::F32, {0, 0}, {1, 1}), sum})};
    std::vector<Node> values = {s.x, s.w};
    for (int i = 0; i < 9; ++i) {
      const Node left = random.pick(values), right = random.pick(values);
      const std::int64_t kind = random.in(0, 4);
      values.push_back(kind <= 1   ? b.op(v1::TANH, {s.times(left, right)})
                       : kind == 2 ? b.op(v1::SUB, {left, right})
                                   : chosen(b, random.pick(bools), left, right, s.shape));
    }
    b.output(chosen(b, random.pick(bools), values[values.size() - 1], values[values.size() - 2], s.shape));
    if (random.one_in(2)) b.output(random.pick(values));
    Program program(b.graph(), on_gpu() ? gpu_target() : seed % 3 == 0 ? threaded_target() : host_target());
    for (const bool value : {true, false}) {
      for (Feed feed : s.feeds()) {
        feed.inputs.push_back(one_bool(value));
        INFO("seed " << seed);
        program.check(feed, roundings(Scalar::F32, 4000));
      }
    }
    conditional += conditions_of(program).empty() ? 0 : 1;
  }
  if (!on_gpu()) CHECK(conditional >= 6);
}

}  // namespace
}  // namespace hearth::conformance
