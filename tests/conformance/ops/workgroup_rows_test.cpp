// Rows that a workgroup computes together (schedule/workgroup_rows), for subgroups of several sizes: on a GPU only
// (HEARTH_CONFORMANCE_DEVICE). The interpreter of workgroups runs every kernel, and reports races.
#include <catch2/catch.hpp>

#include "compiler/ir/affine.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

Dims row_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

void check_reduction(Scalar dtype, v1::Op kind, const Shape& shape, std::vector<std::int64_t> axes,
                     std::uint32_t subgroup, Tolerance tolerance) {
  GraphBuilder b;
  b.output(b.reduce(kind, b.input(wire(dtype), row_dims(shape)), axes));
  Program program(b.graph(), workgroup_target(subgroup));
  INFO("subgroups of " << subgroup);
  CAPTURE(shape);
  CHECK(program.num_of_workgroups() == 1);
  program.check({{ir::is_int(dtype) ? ramp(dtype, shape, 3) : uniform(dtype, shape, 5)}, {}}, tolerance);
}

// x - max, exp, over the sum of them; along the last axis.
Node softmax_of_rows(GraphBuilder& b, Node x, const Dims& shape) {
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const Node greatest = b.expand(b.reduce(v1::REDUCE_MAX, x, {last}), shape);
  const Node e = b.op(v1::EXP, {b.op(v1::SUB, {x, greatest})});
  return b.op(v1::DIV, {e, b.expand(b.reduce(v1::REDUCE_SUM, e, {last}), shape)});
}

}  // namespace

TEST_CASE("workgroups: sums, products and extremes of rows, whatever their length") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::uint32_t subgroup : {2U, 8U, 32U, 64U}) {
    const std::int64_t n = 4 * static_cast<std::int64_t>(subgroup);
    for (const std::int64_t length : {n, n - 1, n + 3, 5 * n}) {
      check_reduction(Scalar::F32, v1::REDUCE_SUM, {3, length}, {1}, subgroup, roundings(Scalar::F32, 64));
      check_reduction(Scalar::I32, v1::REDUCE_SUM, {3, length}, {1}, subgroup, Tolerance::exact());
    }
    check_reduction(Scalar::F32, v1::REDUCE_MAX, {2, 3, n + 1}, {2}, subgroup, Tolerance::exact());
    check_reduction(Scalar::F32, v1::REDUCE_MIN, {1, n + 1}, {0, 1}, subgroup, Tolerance::exact());
    check_reduction(Scalar::I32, v1::REDUCE_PROD, {2, n + 5}, {1}, subgroup, Tolerance::exact());
    check_reduction(Scalar::I32, v1::REDUCE_MAX, {5, 2, n}, {1, 2}, subgroup, Tolerance::exact());
    check_reduction(Scalar::F32, v1::REDUCE_SUM, {n}, {0}, subgroup, roundings(Scalar::F32, 64));
  }
}

TEST_CASE("workgroups: a subgroup's sums go through shared memory where it exchanges no values") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  // Of the linear kernel of a row's sum, with subgroups of 8.
  const auto lines_of = [](std::int64_t length, const char* op) {
    GraphBuilder b;
    b.output(b.reduce(v1::REDUCE_SUM, b.input(v1::F32, {3, length}), {1}));
    Program program(b.graph(), workgroup_target(8));
    const std::vector<ir::UOpRef>& body = program.linear_kernel(0);
    return std::ranges::count_if(body, [&](ir::UOpRef x) { return ir::op_name(x->op) == op; });
  };
  const bool exchanges = !on_vulkan();
  CHECK(lines_of(16, "barrier") == (exchanges ? 0 : 4));
  CHECK(lines_of(16, "exchange") == (exchanges ? 3 : 0));
  // Of 64 invocations.
  CHECK(lines_of(128, "barrier") == (exchanges ? 1 : 7));
  CHECK(lines_of(128, "exchange") == (exchanges ? 6 : 0));
}

TEST_CASE("workgroups: rows that are divided by their sums, and moved by their means") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::uint32_t subgroup : {2U, 8U, 32U}) {
    for (const std::int64_t length : {64, 77, 130}) {
      INFO("subgroups of " << subgroup << ", rows of " << length);
      const Shape shape = {2, 3, length};
      GraphBuilder b;
      const Node x = b.input(v1::F32, row_dims(shape));
      b.output(softmax_of_rows(b, x, row_dims(shape)));
      Program softmaxes(b.graph(), workgroup_target(subgroup));
      CHECK(softmaxes.num_of_workgroups() >= 1);
      softmaxes.check({{uniform(Scalar::F32, shape, 5)}, {}}, {1e-5, 1e-7});

      GraphBuilder c;
      const Node y = c.input(v1::F32, row_dims(shape));
      const Node part = c.fill(v1::F32, {0, 1.0 / static_cast<double>(length)}, {2, 3, 1});
      const auto mean = [&](Node of) {
        return c.expand(c.op(v1::MUL, {c.reduce(v1::REDUCE_SUM, of, {2}), part}), row_dims(shape));
      };
      const Node centred = c.op(v1::SUB, {y, mean(y)});
      const Node little = c.fill(v1::F32, {0, 1e-5}, row_dims(shape));
      const Node variance = mean(c.op(v1::MUL, {centred, centred}));
      c.output(c.op(v1::DIV, {centred, c.op(v1::SQRT, {c.op(v1::ADD, {variance, little})})}));
      Program norms(c.graph(), workgroup_target(subgroup));
      CHECK(norms.num_of_workgroups() >= 1);
      norms.check({{uniform(Scalar::F32, shape, 6)}, {}}, {2e-5, 2e-6});
    }
  }
}

TEST_CASE("workgroups: any number of rows of any length") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::uint32_t subgroup : {2U, 32U}) {
    GraphBuilder b;
    const Dim rows = b.var("rows", 0, 5), length = b.var("length", 1, 200);
    const Node x = b.input(v1::F32, {rows, length});
    b.output(softmax_of_rows(b, x, {rows, length}));
    b.output(b.reduce(v1::REDUCE_SUM, x, {1}));
    Program program(b.graph(), workgroup_target(subgroup));
    CHECK(program.num_of_workgroups() >= 2);
    for (const std::int64_t r : {0, 1, 5}) {
      for (const std::int64_t n : {1, 2, 31, 64, 65, 200}) {
        CAPTURE(subgroup, r, n);
        program.check({{uniform(Scalar::F32, {r, n}, 7)}, {r, n}}, {2e-5, 2e-5});
      }
    }
  }
}

TEST_CASE("workgroups: a vector times a matrix is neighbouring results' work, each with shares of its sum") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::uint32_t subgroup : {2U, 8U, 32U}) {
    for (const auto& [depth, columns] : {std::array<std::int64_t, 2>{64, 64}, {77, 45}, {200, 33}}) {
      CAPTURE(subgroup, depth, columns);
      GraphBuilder b;
      const Node x = b.input(v1::F32, {1, depth}), w = b.input(v1::F32, {depth, columns});
      const Node bias = b.input(v1::F32, {1, columns});
      b.output(b.op(v1::ADD, {b.op(v1::MATMUL, {x, w}), bias}));
      b.output(b.reduce(v1::REDUCE_MAX, w, {0}));
      Program program(b.graph(), workgroup_target(subgroup));
      CHECK(program.num_of_workgroups() == 2);
      program.check({{uniform(Scalar::F32, {1, depth}, 1), uniform(Scalar::F32, {depth, columns}, 2),
                      uniform(Scalar::F32, {1, columns}, 3)},
                     {}},
                    {2e-5, 2e-5});
    }
  }
  GraphBuilder b;
  const Dim depth = b.var("depth", 0, 150), columns = b.var("columns", 0, 90);
  b.output(b.op(v1::MATMUL, {b.input(v1::F32, {1, depth}), b.input(v1::F32, {depth, columns})}));
  Program program(b.graph(), workgroup_target(8));
  CHECK(program.num_of_workgroups() == 1);
  for (const auto& [k, n] : {std::array<std::int64_t, 2>{150, 90}, {0, 3}, {1, 1}, {3, 0}, {65, 9}}) {
    CAPTURE(k, n);
    program.check({{uniform(Scalar::F32, {1, k}, 1), uniform(Scalar::F32, {k, n}, 2)}, {k, n}}, {2e-5, 2e-5});
  }
}

TEST_CASE("workgroups: neighbours read neighbours of what most of a reduction reads") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const bool is_transposed : {false, true}) {
    CAPTURE(is_transposed);
    GraphBuilder b;
    const Node x = b.input(v1::F32, {1, 128});
    const Node w = is_transposed ? b.permute(b.input(v1::F32, {64, 128}), {1, 0}) : b.input(v1::F32, {128, 64});
    b.output(b.op(v1::MATMUL, {x, w}));
    Program program(b.graph(), workgroup_target(8));
    int of_matrix = 0;
    for (ir::UOpRef load : program.linear_kernel(0)) {
      if (!load->is(ir::Op::Load) || !load->source(0)->source(0)->is(ir::Op::Param)) continue;
      if (load->source(0)->source(0)->as<ir::ParamInfo>().slot != 2) continue;
      ++of_matrix;
      // The invocation's number, or its lowest digit.
      std::int64_t step = 0;
      for (const ir::AffineTerm& term : ir::to_affine(load->source(0)->source(1)).terms) {
        ir::UOpRef number = term.atom->is(ir::Op::FloorMod) ? term.atom->source(0) : term.atom;
        if (ir::is_range(number, ir::RangeKind::Invocation)) step += term.coefficient;
      }
      CHECK(step == 1);
    }
    CHECK(of_matrix == 1);
  }
}

TEST_CASE("workgroups: a device with little shared memory, small workgroups or subgroups of one does without them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  struct Record {
    std::uint32_t subgroup, workgroup, shared_bytes;
  };
  for (const Record& record : {Record{1, 128, 16384}, Record{32, 128, 0}, Record{32, 128, 64}, Record{32, 1, 16384}}) {
    CAPTURE(record.subgroup, record.workgroup, record.shared_bytes);
    v1::Target target = workgroup_target(record.subgroup);
    target.mutable_gpu()->set_max_workgroup_invocations(record.workgroup);
    target.mutable_gpu()->set_workgroup_size(std::min(target.gpu().workgroup_size(), record.workgroup));
    target.mutable_gpu()->set_shared_bytes(record.shared_bytes);
    GraphBuilder b;
    const Node x = b.input(v1::F32, {3, 200});
    b.output(softmax_of_rows(b, x, {3, 200}));
    b.output(b.reduce(v1::REDUCE_SUM, x, {0, 1}));
    Program program(b.graph(), target);
    CHECK(program.num_of_workgroups() == 0);
    program.check({{uniform(Scalar::F32, {3, 200}, 7)}, {}}, {2e-5, 2e-5});
  }
}

TEST_CASE("workgroups: a long sum to one value is divided between many of them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  GraphBuilder b;
  b.output(b.reduce(v1::REDUCE_SUM, b.input(v1::F32, {512, 1024}), {0, 1}));
  Program program(b.graph(), workgroup_target(8));
  CHECK(program.num_of_workgroups() == 2);
  const v1::Expr& units = program.lowered().plan().launches(0).grid();
  REQUIRE(units.tokens_size() == 1);
  CHECK(units.tokens(0).value() >= 512);
  program.check({{uniform(Scalar::F32, {512, 1024}, 5)}, {}}, roundings(Scalar::F32, 256));
}

TEST_CASE("workgroups: what each element has a reduction of its own for stays one invocation's") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  GraphBuilder b;
  const Node x = b.input(v1::F32, {4, 64}), w = b.input(v1::F32, {64, 96});
  b.output(b.reduce(v1::REDUCE_SUM, softmax_of_rows(b, b.op(v1::MATMUL, {x, w}), {4, 96}), {1}));
  Program program(b.graph(), workgroup_target(8));
  program.check({{uniform(Scalar::F32, {4, 64}, 8), uniform(Scalar::F32, {64, 96}, 9)}, {}}, {1e-4, 1e-5});
}

}  // namespace hearth::conformance
