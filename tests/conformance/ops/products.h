// Two products of matrices, for tests of tiles.
//
//   add_products(builder, rows, depth, columns);
//   check_products(program, rows, depth, columns, vars);
#pragma once
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {

// A product, its operands transposed or not, and what is added to it.
inline void add_products(GraphBuilder& b, Dim rows, Dim depth, Dim columns) {
  const Node x = b.input(v1::F32, {rows, depth}), w = b.input(v1::F32, {depth, columns});
  const Node v = b.input(v1::F32, {columns, depth}), bias = b.input(v1::F32, {1, columns});
  b.output(b.op(v1::ADD, {b.op(v1::MATMUL, {x, w}), b.expand(bias, {rows, columns})}));
  b.output(b.op(v1::MATMUL, {x, b.permute(v, {1, 0})}));
}

inline void check_products(Program& program, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                           const std::vector<std::int64_t>& vars) {
  CAPTURE(rows, depth, columns);
  program.check({{uniform(ir::Scalar::F32, {rows, depth}, 1), uniform(ir::Scalar::F32, {depth, columns}, 2),
                  uniform(ir::Scalar::F32, {columns, depth}, 3), uniform(ir::Scalar::F32, {1, columns}, 4)},
                 vars},
                {1e-5, 1e-5});
}

}  // namespace hearth::conformance
