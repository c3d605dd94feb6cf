// Blocks of results that a workgroup computes from copies in shared memory (schedule/workgroup_tile): on a GPU only
// (HEARTH_CONFORMANCE_DEVICE). The interpreter of workgroups runs every kernel, and reports races.
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/products.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
using ir::Scalar;

TEST_CASE("workgroups: a thin product is cut along its sums where its results are too few, and added up in order") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  const std::int64_t rows = 6, depth = 2048, columns = 24;
  GraphBuilder b;
  add_products(b, rows, depth, columns);
  Program program(b.graph(), workgroup_target(8));
  CHECK(program.lowered().plan().launches_size() == 4);  // the products of the parts, and their sums, twice
  check_products(program, rows, depth, columns, {});
  // Of a batch, in f16; one row is no product of matrices.
  GraphBuilder half;
  half.output(half.op(v1::MATMUL, {half.input(v1::F16, {2, rows, depth}), half.input(v1::F16, {2, depth, columns})}));
  half.output(half.op(v1::MATMUL, {half.input(v1::F16, {1, depth}), half.input(v1::F16, {depth, columns})}));
  Program narrow(half.graph(), workgroup_target(8));
  CHECK(narrow.lowered().plan().launches_size() == 3);
  narrow.check({{uniform(ir::Scalar::F16, {2, rows, depth}, 1), uniform(ir::Scalar::F16, {2, depth, columns}, 2),
                 uniform(ir::Scalar::F16, {1, depth}, 3), uniform(ir::Scalar::F16, {depth, columns}, 4)},
                {}},
               {2e-3, 2e-2});
}

TEST_CASE("shared tiles: products whatever their lengths, for subgroups of several sizes") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::uint32_t subgroup : {4U, 32U, 64U}) {
    for (const auto& [rows, depth, columns] :
         {std::array{33, 17, 65}, {64, 32, 48}, {5, 70, 37}, {40, 3, 9}, {16, 16, 16}}) {
      INFO("subgroups of " << subgroup);
      GraphBuilder b;
      add_products(b, rows, depth, columns);
      Program program(b.graph(), shared_tile_target(subgroup));
      CHECK(program.num_of_workgroups() == 2);
      check_products(program, rows, depth, columns, {});
    }
  }
}

TEST_CASE("shared tiles: products of any lengths, 0 and 1 among them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::int64_t most : {1, 6, 70}) {
    CAPTURE(most);
    GraphBuilder b;
    const Dim m = b.var("rows", 0, most), k = b.var("depth", 0, most), n = b.var("columns", 0, most);
    add_products(b, m, k, n);
    Program program(b.graph(), shared_tile_target(4));
    if (most > 1) CHECK(program.num_of_workgroups() == 2);
    for (const auto& [rows, depth, columns] : {std::array<std::int64_t, 3>{most, most, most},
                                               {0, 1, 1},
                                               {1, 0, 1},
                                               {1, 1, 0},
                                               {1, 1, 1},
                                               {most, 1, most - 1},
                                               {most / 2 + 1, most / 3, 1}})
      check_products(program, rows, depth, columns, {rows, depth, columns});
  }
}

TEST_CASE("shared tiles: products of a batch, of several types, and of what is computed on the way") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  GraphBuilder b;
  const Node x = b.input(v1::F32, {3, 20, 19}), w = b.input(v1::F32, {3, 19, 33});
  b.output(b.op(v1::EXP, {b.op(v1::MATMUL, {x, w})}));
  b.output(b.op(v1::MATMUL, {x, b.permute(x, {0, 2, 1})}));
  const Node i = b.input(v1::I32, {17, 24}), j = b.input(v1::I32, {24, 40});
  b.output(b.op(v1::MATMUL, {i, j}));
  const Node narrow = b.input(v1::I8, {24, 40});
  b.output(b.op(v1::MATMUL, {i, b.cast(narrow, v1::I32)}));
  Program program(b.graph(), shared_tile_target(4));
  CHECK(program.num_of_workgroups() == 4);
  program.check({{uniform(Scalar::F32, {3, 20, 19}, 1), uniform(Scalar::F32, {3, 19, 33}, 2),
                  ramp(Scalar::I32, {17, 24}, 3), ramp(Scalar::I32, {24, 40}, 4), ramp(Scalar::I8, {24, 40}, 5)},
                 {}},
                {1e-5, 1e-5});
}

TEST_CASE("shared tiles: the greatest of sums, for which what is beyond the end is no zero") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  const std::int64_t m = 21, k = 13, n = 34;
  for (const v1::Op kind : {v1::REDUCE_MAX, v1::REDUCE_MIN, v1::REDUCE_SUM}) {
    GraphBuilder b;
    const Node x = b.expand(b.reshape(b.input(v1::F32, {m, k}), {m, k, 1}), {m, k, n});
    const Node w = b.expand(b.reshape(b.input(v1::F32, {k, n}), {1, k, n}), {m, k, n});
    b.output(b.reduce(kind, b.op(v1::ADD, {x, w}), {1}));
    Program program(b.graph(), shared_tile_target(4));
    CHECK(program.num_of_workgroups() == 1);
    program.check({{uniform(Scalar::F32, {m, k}, 1), uniform(Scalar::F32, {k, n}, 2)}, {}}, {1e-5, 1e-5});
  }
}

TEST_CASE("shared tiles: windows with padding around them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  const std::int64_t channels = 5, filters = 18, height = 9, width = 21, size = 3;
  GraphBuilder b;
  const Node x = b.input(v1::F32, {channels, height, width}), w = b.input(v1::F32, {filters, channels, size, size});
  const Node padded = b.pad(x, {0, 0, 1, 1, 1, 1});
  const Node windows = b.unfold(b.unfold(padded, 1, size, 1, 1), 2, size, 1, 1);  // c, h, w, kh, kw
  const Dims all = {filters, height, width, channels, size, size};
  const Node moved = b.reshape(b.permute(windows, {1, 2, 0, 3, 4}), {1, height, width, channels, size, size});
  const Node weights = b.reshape(w, {filters, 1, 1, channels, size, size});
  b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {b.expand(moved, all), b.expand(weights, all)}), {3, 4, 5}));
  Program program(b.graph(), shared_tile_target(4));
  CHECK(program.num_of_workgroups() >= 1);
  program.check(
      {{uniform(Scalar::F32, {channels, height, width}, 1), uniform(Scalar::F32, {filters, channels, size, size}, 2)},
       {}},
      {1e-5, 1e-5});
}

TEST_CASE("shared tiles: a device with little shared memory or small workgroups does without them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const auto& [workgroup, shared_bytes] : {std::array{128U, 0U}, {128U, 64U}, {1U, 16384U}}) {
    CAPTURE(workgroup, shared_bytes);
    v1::Target target = shared_tile_target(32);
    target.mutable_gpu()->set_max_workgroup_invocations(workgroup);
    target.mutable_gpu()->set_workgroup_size(std::min(target.gpu().workgroup_size(), workgroup));
    target.mutable_gpu()->set_shared_bytes(shared_bytes);
    GraphBuilder b;
    add_products(b, 33, 17, 65);
    Program program(b.graph(), target);
    CHECK(program.num_of_workgroups() == 0);
    check_products(program, 33, 17, 65, {});
  }
}

}  // namespace hearth::conformance
