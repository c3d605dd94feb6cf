// Symbolic dims: one plan, several values of its variables, the least and the greatest among them.
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

TEST_CASE("rows and columns of any length") {
  GraphBuilder b;
  const Dim n = b.var("n", 0, 11), m = b.var("m", 1, 9);
  const Node x = b.input(v1::F32, {n, m}), row = b.input(v1::F32, {1, m});
  const Node y = b.op(v1::MUL, {x, b.expand(row, {n, m})});
  b.output(y);
  b.output(b.reduce(v1::REDUCE_SUM, y, {1}));
  b.output(b.reduce(v1::REDUCE_SUM, y, {0}));
  b.output(b.reduce(v1::REDUCE_MAX, y, {0, 1}));
  b.output(b.permute(y, {1, 0}));
  b.output(b.flip(y, {0}));
  b.output(b.reshape(y, {n * m}));
  Program program(b.graph());
  for (const auto& [rows, columns] : {std::pair{0, 1}, {1, 1}, {3, 4}, {11, 9}, {8, 8}, {5, 9}, {11, 1}}) {
    CAPTURE(rows, columns);
    program.check({{ramp(Scalar::F32, {rows, columns}, 1), ramp(Scalar::F32, {1, columns}, 2)}, {rows, columns}},
                  Tolerance::exact());
  }
}

TEST_CASE("matmul and softmax over a symbolic length") {
  GraphBuilder b;
  const Dim t = b.var("t", 1, 13);
  const Node q = b.input(v1::F32, {t, 4}), k = b.input(v1::F32, {t, 4});
  const Node scores = b.op(v1::MATMUL, {q, b.permute(k, {1, 0})});
  const Node e = b.op(v1::EXP, {b.op(v1::SUB, {scores, b.expand(b.reduce(v1::REDUCE_MAX, scores, {1}), {t, t})})});
  const Node p = b.op(v1::DIV, {e, b.expand(b.reduce(v1::REDUCE_SUM, e, {1}), {t, t})});
  b.output(b.op(v1::MATMUL, {p, k}));
  b.output(scores);
  Program program(b.graph());
  for (const std::int64_t length : {1, 2, 7, 8, 13}) {
    CAPTURE(length);
    program.check({{uniform(Scalar::F32, {length, 4}, 1), uniform(Scalar::F32, {length, 4}, 2)}, {length}},
                  roundings(Scalar::F32, 64));
  }
}

TEST_CASE("pad, shrink, unfold, cat, expand and reshape with symbolic arguments") {
  GraphBuilder b;
  const Dim n = b.var("n", 2, 10), k = b.var("k", 0, 3);
  const Node x = b.input(v1::I32, {n, 3});
  b.output(b.pad(x, {k, 1, 0, k}, {7, 7.0}));
  b.output(b.shrink(x, {1, n, 0, 2}));
  b.output(b.shrink(b.pad(x, {3, 0, 0, 0}), {k, k + 2, 0, 3}));
  b.output(b.unfold(x, 0, 2, 1, 1));
  b.output(b.cat({x, b.shrink(x, {1, n, 0, 3}), x}, 0));
  b.output(b.expand(b.shrink(x, {0, 1, 0, 3}), {k + 1, 3}));
  b.output(b.reshape(x, {3, n}));
  b.output(b.reduce(v1::REDUCE_SUM, b.reshape(b.cat({x, x}, 1), {n * 2, 3}), {0}));
  b.output(b.iota(v1::I32, {n, k}, 0));
  b.output(b.fill(v1::I32, {3, 3.0}, {n - 1, k}));
  Program program(b.graph());
  for (const auto& [rows, count] : {std::pair{2, 0}, {2, 3}, {10, 3}, {10, 0}, {7, 2}, {3, 1}}) {
    CAPTURE(rows, count);
    program.check({{ramp(Scalar::I32, {rows, 3})}, {rows, count}}, Tolerance::exact());
  }
}

TEST_CASE("gather along and by symbolic lengths") {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 6), m = b.var("m", 0, 5);
  const Node x = b.input(v1::F16, {n, 3});
  const Node i = b.input(v1::I64, {m});
  b.output(b.gather(x, i, 0));
  Program program(b.graph());
  for (const auto& [rows, count] : {std::pair{1, 0}, {1, 5}, {6, 5}, {4, 3}}) {
    CAPTURE(rows, count);
    program.check({{ramp(Scalar::F16, {rows, 3}), ramp(Scalar::I64, {count})}, {rows, count}}, Tolerance::exact());
  }
}

TEST_CASE("lengths that are quotients and products of variables") {
  GraphBuilder b;
  const Dim n = b.var("n", 4, 16);
  const Node x = b.input(v1::F32, {n * 2});
  const Node half = b.shrink(x, {0, n / 2});
  b.output(b.op(v1::ADD, {half, half}));
  b.output(b.reduce(v1::REDUCE_MAX, b.reshape(x, {n, 2}), {1}));
  b.output(b.reduce(v1::REDUCE_SUM, half, {0}));
  Program program(b.graph());
  for (const std::int64_t value : {4, 5, 9, 16}) {
    CAPTURE(value);
    program.check({{ramp(Scalar::F32, {2 * value})}, {value}}, Tolerance::exact());
  }
}

TEST_CASE("lengths that are equal, written in other ways") {
  GraphBuilder b;
  const Dim n = b.var("n", 3, 16), m = b.var("m", 1, 5);
  const Node x = b.input(v1::F32, {m, n});
  const Node windows = b.unfold(x, 1, 3, 2, 1);                  // [m, (n - 3) / 2 + 1, 3]
  const Node rows = b.reshape(windows, {m * ((n - 1) / 2), 3});  // m*((n + 1)/2) - m rows
  b.output(rows);
  b.output(b.reduce(v1::REDUCE_SUM, rows, {0}));
  b.output(b.reshape(b.cat({x, x}, 1), {n * 2, m}));  // n + n
  b.output(b.shrink(x, {0, m, 0, min(n, Dim(5))}));
  b.output(b.shrink(b.pad(x, {0, 0, 2, n}), {0, m, n, n * 2 + 1}));
  Program program(b.graph());
  for (const auto& [columns, rows_in] : {std::pair{3, 1}, {4, 5}, {5, 2}, {16, 5}, {15, 1}, {7, 3}}) {
    CAPTURE(columns, rows_in);
    program.check({{ramp(Scalar::F32, {rows_in, columns})}, {columns, rows_in}}, Tolerance::exact());
  }
}

}  // namespace
}  // namespace hearth::conformance
