// Products by the matrix unit of a GPU (schedule/matrix_tile, passes/kernel/matrix_tiles): on a GPU only
// (HEARTH_CONFORMANCE_DEVICE). The interpreter of workgroups runs every kernel, and reports races.
#include <catch2/catch.hpp>

#include "compiler/target/target.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

bool has_matrix_unit() {
  return on_gpu() && target::Target(matrix_target()).multiplies_matrices(Scalar::F16, Scalar::F16);
}

int num_by_unit(const Program& program) {
  return static_cast<int>(std::ranges::count_if(program.lowered().kernels(), [](const v1::KernelSpec& kernel) {
    return kernel.ast().find(" = wmma ") != std::string::npos;
  }));
}

// A row's and a column's sums of f32, rounded to the narrow type.
void check_products(Scalar narrow, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  CAPTURE(rows, depth, columns, ir::to_string(narrow));
  GraphBuilder b;
  const v1::DType dtype = wire(narrow);
  const Node x = b.input(dtype, {rows, depth}), w = b.input(dtype, {depth, columns});
  const Node v = b.input(dtype, {columns, depth}), bias = b.input(v1::F32, {1, columns});
  b.output(b.op(v1::MATMUL, {x, w}));
  const Node wide = b.op(v1::MATMUL, {b.cast(x, v1::F32), b.cast(b.permute(v, {1, 0}), v1::F32)});
  b.output(b.op(v1::EXP, {b.op(v1::ADD, {wide, b.expand(bias, {rows, columns})})}));
  Program program(b.graph(), matrix_target());
  CHECK(num_by_unit(program) == (target::Target(matrix_target()).multiplies_matrices(narrow, narrow) ? 2 : 0));
  program.check({{uniform(narrow, {rows, depth}, 1), uniform(narrow, {depth, columns}, 2),
                  uniform(narrow, {columns, depth}, 3), uniform(Scalar::F32, {1, columns}, 4)},
                 {}},
                {narrow == Scalar::F16 ? 2e-3 : 1e-2, narrow == Scalar::F16 ? 1e-3 : 1e-2});
}

}  // namespace

TEST_CASE("matrix units: products of f16 and bf16, whatever their lengths") {
  if (!has_matrix_unit()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU with a matrix unit");
  for (const Scalar narrow : {Scalar::F16, Scalar::BF16}) {
    check_products(narrow, 48, 16, 32);
    check_products(narrow, 63, 95, 62);
    check_products(narrow, 47, 47, 79);
  }
}

TEST_CASE("matrix units: products of bytes are exact, whatever their signs and lengths") {
  if (!has_matrix_unit()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU with a matrix unit");
  for (const auto& [a, b] : {std::pair{Scalar::I8, Scalar::I8}, {Scalar::U8, Scalar::I8}, {Scalar::U8, Scalar::U8}}) {
    for (const auto& [rows, depth, columns] : {std::array<std::int64_t, 3>{48, 64, 32}, {63, 95, 62}, {79, 65, 95}}) {
      CAPTURE(rows, depth, columns, ir::to_string(a), ir::to_string(b));
      GraphBuilder builder;
      const Node x = builder.input(wire(a), {rows, depth}), w = builder.input(wire(b), {columns, depth});
      builder.output(
          builder.op(v1::MATMUL, {builder.cast(x, v1::I32), builder.cast(builder.permute(w, {1, 0}), v1::I32)}));
      Program program(builder.graph(), matrix_target());
      CHECK(num_by_unit(program) == (target::Target(matrix_target()).multiplies_matrices(a, b) ? 1 : 0));
      program.check({{ramp(a, {rows, depth}, 1, 120), ramp(b, {columns, depth}, 2, 120)}, {}}, Tolerance::exact());
    }
  }
}

TEST_CASE("matrix units: products of any lengths, 0 and 1 among them") {
  if (!has_matrix_unit()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU with a matrix unit");
  GraphBuilder b;
  const Dim m = b.var("rows", 0, 64), k = b.var("depth", 0, 40), n = b.var("columns", 0, 64);
  b.output(b.op(v1::MATMUL, {b.input(v1::F16, {m, k}), b.input(v1::F16, {k, n})}));
  Program program(b.graph(), matrix_target());
  CHECK(num_by_unit(program) == 1);
  for (const auto& [rows, depth, columns] :
       {std::array<std::int64_t, 3>{64, 40, 64}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, 1, 1}, {17, 33, 5}}) {
    CAPTURE(rows, depth, columns);
    program.check(
        {{uniform(Scalar::F16, {rows, depth}, 1), uniform(Scalar::F16, {depth, columns}, 2)}, {rows, depth, columns}},
        {2e-3, 1e-3});
  }
}

TEST_CASE("matrix units: products of a batch, and with a window") {
  if (!has_matrix_unit()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU with a matrix unit");
  GraphBuilder b;
  const Node x = b.input(v1::F16, {3, 32, 31}), w = b.input(v1::F16, {3, 31, 48});
  b.output(b.op(v1::MATMUL, {x, w}));
  // 32 filters of three along 32 places of 31 channels.
  const Node s = b.input(v1::F16, {31, 34}), f = b.input(v1::F16, {32, 31, 3});
  const Dims all = {32, 32, 31, 3};
  const Node windows = b.permute(b.unfold(s, 1, 3, 1, 1), {1, 0, 2});
  const Node moved = b.expand(b.reshape(windows, {1, 32, 31, 3}), all);
  const Node filters = b.expand(b.reshape(f, {32, 1, 31, 3}), all);
  b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {b.cast(moved, v1::F32), b.cast(filters, v1::F32)}), {2, 3}));
  Program program(b.graph(), matrix_target());
  CHECK(num_by_unit(program) == 2);
  program.check({{uniform(Scalar::F16, {3, 32, 31}, 1), uniform(Scalar::F16, {3, 31, 48}, 2),
                  uniform(Scalar::F16, {31, 34}, 3), uniform(Scalar::F16, {32, 31, 3}, 4)},
                 {}},
                {2e-3, 1e-3});
}

TEST_CASE("matrix units: attention in 16 bits has both of its products by the unit, and keeps 16 bits in memory") {
  if (!has_matrix_unit()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU with a matrix unit");
  for (const Scalar narrow : {Scalar::F16, Scalar::BF16}) {
    if (!target::Target(matrix_target()).multiplies_matrices(narrow, narrow)) continue;
    const v1::DType dtype = wire(narrow);
    GraphBuilder b;
    const Node q = b.input(dtype, {2, 48, 32}), k = b.input(dtype, {2, 64, 32}), v = b.input(dtype, {2, 64, 32});
    const Node s = b.cast(b.op(v1::MATMUL, {q, b.permute(k, {0, 2, 1})}), v1::F32);
    const auto across = [&](Node x) { return b.expand(x, {2, 48, 64}); };
    const Node e = b.op(v1::EXP, {b.op(v1::SUB, {s, across(b.reduce(v1::REDUCE_MAX, s, {2}))})});
    const Node p = b.op(v1::DIV, {e, across(b.reduce(v1::REDUCE_SUM, e, {2}))});
    b.output(b.op(v1::MATMUL, {b.cast(p, dtype), v}));
    Program program(b.graph(), matrix_target());
    CHECK(num_by_unit(program) == 2);
    for (const v1::PlanBuffer& buffer : program.lowered().plan().buffers()) {
      INFO(buffer.DebugString());
      const bool is_large = buffer.kind() == v1::PlanBuffer::ARENA && buffer.max_bytes() > 4 * 2 * 48;
      if (is_large) CHECK(buffer.dtype() == dtype);
    }
    const Tolerance tolerance = {narrow == Scalar::F16 ? 4e-3 : 3e-2, narrow == Scalar::F16 ? 2e-3 : 2e-2};
    program.check(
        {{uniform(narrow, {2, 48, 32}, 1), uniform(narrow, {2, 64, 32}, 2), uniform(narrow, {2, 64, 32}, 3)}, {}},
        tolerance);
  }
}

}  // namespace hearth::conformance
