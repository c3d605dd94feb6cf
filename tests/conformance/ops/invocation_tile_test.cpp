// Tiles of results that one invocation computes (schedule/invocation_tile): on a GPU only (HEARTH_CONFORMANCE_DEVICE).
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

// A product, its operands transposed or not, and what is added to it.
void check_products(Program& program, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                    const std::vector<std::int64_t>& vars) {
  CAPTURE(rows, depth, columns);
  program.check({{uniform(Scalar::F32, {rows, depth}, 1), uniform(Scalar::F32, {depth, columns}, 2),
                  uniform(Scalar::F32, {columns, depth}, 3), uniform(Scalar::F32, {1, columns}, 4)},
                 vars},
                {1e-5, 1e-5});
}

void add_products(GraphBuilder& b, Dim rows, Dim depth, Dim columns) {
  const Node x = b.input(v1::F32, {rows, depth}), w = b.input(v1::F32, {depth, columns});
  const Node v = b.input(v1::F32, {columns, depth}), bias = b.input(v1::F32, {1, columns});
  b.output(b.op(v1::ADD, {b.op(v1::MATMUL, {x, w}), b.expand(bias, {rows, columns})}));
  b.output(b.op(v1::MATMUL, {x, b.permute(v, {1, 0})}));
}

}  // namespace

TEST_CASE("tiles: products with lengths that are no multiple of a tile") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const auto& [rows, depth, columns] :
       {std::array{33, 17, 65}, {64, 31, 3}, {1, 40, 37}, {5, 1, 5}, {16, 16, 16}}) {
    GraphBuilder b;
    add_products(b, rows, depth, columns);
    Program program(b.graph(), tile_target());
    check_products(program, rows, depth, columns, {});
  }
}

TEST_CASE("tiles: products of any lengths, 0 and 1 among them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::int64_t most : {1, 6, 70}) {
    CAPTURE(most);
    GraphBuilder b;
    const Dim m = b.var("rows", 0, most), k = b.var("depth", 0, most), n = b.var("columns", 0, most);
    add_products(b, m, k, n);
    Program program(b.graph(), tile_target());
    for (const auto& [rows, depth, columns] : {std::array<std::int64_t, 3>{most, most, most},
                                               {0, 1, 1},
                                               {1, 0, 1},
                                               {1, 1, 0},
                                               {1, 1, 1},
                                               {most, 1, most - 1}})
      check_products(program, rows, depth, columns, {rows, depth, columns});
  }
}

}  // namespace hearth::conformance
