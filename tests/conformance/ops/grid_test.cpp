// Kernels whose loops are divided between more threads than the outermost one has turns (passes/kernel/mark_grid).
// Program runs the units of a launch in three parts, the last part first.
#include <catch2/catch.hpp>

#include "runtime/plan/expr.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

v1::Target many_threads() {
  v1::Target target = wide_target();
  target.set_threads(16);
  return target;
}

// Units of the launch that has most.
std::int64_t most_units(const Program& program) {
  std::int64_t most = 0;
  for (const v1::Launch& launch : program.lowered().plan().launches()) {
    const v1::Expr& grid = launch.grid();
    REQUIRE(grid.tokens_size() == 1);
    most = std::max(most, grid.tokens(0).value());
  }
  return most;
}

HostTensor fed(const Shape& shape, std::uint64_t seed) { return uniform(Scalar::F32, shape, seed); }

TEST_CASE("products in a batch of 7 by 5 are divided between 16 threads") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {7, 5, 12, 48}), y = b.input(v1::F32, {7, 5, 48, 33});
  b.output(b.op(v1::MATMUL, {x, y}));
  Program program(b.graph(), many_threads());
  program.check({{fed({7, 5, 12, 48}, 1), fed({7, 5, 48, 33}, 2)}, {}}, roundings(Scalar::F32, 128));
  CHECK(most_units(program) >= 35);
}

TEST_CASE("a convolution over 7 x 7 is divided between 16 threads") {
  GraphBuilder b;
  const Node image = b.input(v1::F32, {9, 9, 32}), weights = b.parameter(v1::F32, {3, 3, 32, 48});
  const Node windows = b.unfold(b.unfold(image, 0, 3, 1, 1), 1, 3, 1, 1);  // [7, 7, 32, 3, 3]
  const Dims products = {7, 7, 48, 32, 3, 3};
  const Node images = b.expand(b.reshape(windows, {7, 7, 1, 32, 3, 3}), products);
  const Node factors = b.expand(b.reshape(b.permute(weights, {3, 2, 0, 1}), {1, 1, 48, 32, 3, 3}), products);
  b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {images, factors}), {3, 4, 5}));
  Program program(b.graph(), many_threads());
  program.check({{fed({9, 9, 32}, 3), fed({3, 3, 32, 48}, 4)}, {}}, roundings(Scalar::F32, 512));
  CHECK(most_units(program) > 7);
}

TEST_CASE("a transposed copy, which computes nothing, is divided between threads") {
  GraphBuilder b;
  b.output(b.permute(b.input(v1::F32, {64, 96, 40}), {1, 2, 0}));
  Program program(b.graph(), many_threads());
  program.check({{fed({64, 96, 40}, 5)}, {}}, Tolerance::exact());
  REQUIRE(program.lowered().plan().launches_size() == 1);
  const v1::Launch& launch = program.lowered().plan().launches(0);
  CHECK(launch.grid().tokens(0).value() / launch.min_units_per_thread() >= 4);
}

TEST_CASE("a padded value, stored a part at a time, is divided between threads") {
  for (const int threads : {2, 3, 5}) {
    CAPTURE(threads);
    GraphBuilder b;
    const Node x = b.op(v1::NEG, {b.input(v1::F32, {24, 50, 64})});
    b.output(b.pad(b.op(v1::MUL, {x, x}), {8, 12, 0, 8, 12, 0}));
    v1::Target target = wide_target();
    target.set_threads(static_cast<std::uint32_t>(threads));
    Program program(b.graph(), target);
    program.check({{fed({24, 50, 64}, 6)}, {}}, Tolerance::exact());
    CHECK(most_units(program) == threads);
  }
}

TEST_CASE("a transposed copy of 21 columns is divided between threads") {
  GraphBuilder b;
  b.output(b.permute(b.input(v1::F32, {64, 96, 21}), {2, 0, 1}));
  Program program(b.graph(), many_threads());
  program.check({{fed({64, 96, 21}, 7)}, {}}, Tolerance::exact());
  CHECK(most_units(program) >= 16);
}

TEST_CASE("rows of 7 by 6 softmaxes are divided between 16 threads") {
  GraphBuilder b;
  const Dims shape = {7, 6, 600}, row = {7, 6, 1};
  const Node x = b.input(v1::F32, shape);
  const Node most = b.expand(b.reshape(b.reduce(v1::REDUCE_MAX, x, {2}), row), shape);
  const Node e = b.op(v1::EXP, {b.op(v1::SUB, {x, most})});
  b.output(b.op(v1::DIV, {e, b.expand(b.reshape(b.reduce(v1::REDUCE_SUM, e, {2}), row), shape)}));
  Program program(b.graph(), many_threads());
  program.check({{fed({7, 6, 600}, 5)}, {}}, roundings(Scalar::F32, 128));
  CHECK(most_units(program) >= 7);
}

// Units of the launch that has most, for values of the plan's variables.
std::int64_t most_units(const Program& program, std::vector<std::int64_t> values) {
  std::vector<runtime::PlanVariable> vars;
  for (const v1::Variable& v : program.lowered().plan().vars()) vars.push_back({v.name(), v.min(), v.max()});
  std::int64_t most = 0;
  for (const v1::Launch& launch : program.lowered().plan().launches()) {
    const auto grid = runtime::Expr::compile(launch.grid(), vars);
    REQUIRE(grid.ok());
    most = std::max(most, grid->evaluate(values.data()));
  }
  return most;
}

TEST_CASE("a plan for batches of 1 to 8 is divided between 16 threads at a batch of 1") {
  GraphBuilder b;
  const Dim batch = b.var("batch", 1, 8);
  const Node x = b.input(v1::F32, {batch, 5, 12, 48}), y = b.input(v1::F32, {batch, 5, 48, 33});
  b.output(b.op(v1::MATMUL, {x, y}));
  Program program(b.graph(), many_threads());
  for (const std::int64_t n : {1, 3, 8}) {
    CAPTURE(n);
    program.check({{fed({n, 5, 12, 48}, 1), fed({n, 5, 48, 33}, 2)}, {n}}, roundings(Scalar::F32, 128));
  }
  CHECK(most_units(program, {1}) >= 5);
  CHECK(most_units(program, {8}) >= 40);
}

TEST_CASE("rows of any number within a batch of any size are divided between 16 threads") {
  GraphBuilder b;
  const Dim batch = b.var("batch", 1, 8), rows = b.var("rows", 1, 64);
  const Node x = b.input(v1::F32, {batch, rows, 48}), y = b.parameter(v1::F32, {48, 96});
  const Node sum = b.reduce(v1::REDUCE_SUM, b.op(v1::EXP, {x}), {2});
  b.output(b.op(v1::ADD, {x, b.expand(b.reshape(sum, {batch, rows, 1}), {batch, rows, 48})}));
  b.output(b.op(v1::MATMUL, {x, b.expand(b.reshape(y, {1, 48, 96}), {batch, 48, 96})}));
  Program program(b.graph(), many_threads());
  for (const std::vector<std::int64_t>& at : std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 40}, {3, 7}, {8, 64}}) {
    CAPTURE(at[0], at[1]);
    program.check({{fed({at[0], at[1], 48}, 1), fed({48, 96}, 2)}, at}, roundings(Scalar::F32, 128));
  }
  CHECK(most_units(program, {1, 40}) >= 8);
}

}  // namespace
}  // namespace hearth::conformance
