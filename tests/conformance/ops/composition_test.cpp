// Reductions, matmul and the compositions real models are made of.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

Dims dims(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

// x [.., n] -> x (op) its last axis' value repeated.
Node with_row(GraphBuilder& b, v1::Op op, Node x, Node row, const Shape& shape) {
  return b.op(op, {x, b.expand(row, dims(shape))});
}

Node softmax(GraphBuilder& b, Node x, const Shape& shape) {
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  const Node e = b.op(v1::EXP, {with_row(b, v1::SUB, x, b.reduce(v1::REDUCE_MAX, x, {last}), shape)});
  return with_row(b, v1::DIV, e, b.reduce(v1::REDUCE_SUM, e, {last}), shape);
}

TEST_CASE("reductions over every dtype and choice of axes") {
  std::vector<Scalar> all = kIntegers;
  all.insert(all.end(), kFloats.begin(), kFloats.end());
  all.insert(all.end(), kFp8.begin(), kFp8.end());
  for (const Scalar dtype : all) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    const Node x = b.input(wire(dtype), {3, 5, 4});
    for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{2}, {0}, {0, 2}, {0, 1, 2}}) {
      b.output(b.reduce(v1::REDUCE_SUM, x, axes));
      b.output(b.reduce(v1::REDUCE_MAX, x, axes));
    }
    b.output(b.reduce(v1::REDUCE_MIN, x, {1}));
    b.output(b.reduce(v1::REDUCE_PROD, b.shrink(x, {0, 3, 0, 2, 0, 4}), {1}));
    b.output(b.reduce(v1::REDUCE_SUM, x, {}));
    Program(b.graph()).check({{ramp(dtype, {3, 5, 4})}, {}}, Tolerance::exact());
  }
}

TEST_CASE("any and all") {
  GraphBuilder b;
  const Node x = b.input(v1::BOOL, {5, 3});
  b.output(b.reduce(v1::REDUCE_MAX, x, {1}));
  b.output(b.reduce(v1::REDUCE_MIN, x, {1}));
  b.output(b.reduce(v1::REDUCE_MIN, x, {0, 1}));
  Program(b.graph()).check({{ramp(Scalar::Bool, {5, 3})}, {}}, Tolerance::exact());
}

TEST_CASE("empty reductions give their identity") {
  for (const Scalar dtype :
       {Scalar::I8, Scalar::U16, Scalar::I64, Scalar::F16, Scalar::F32, Scalar::F8E4M3, Scalar::F8E5M2}) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    const Node x = b.input(wire(dtype), {3, 0});
    const Dim n = b.var("n", 0, 4);
    const Node y = b.input(wire(dtype), {3, n});
    for (const v1::Op op : {v1::REDUCE_SUM, v1::REDUCE_PROD, v1::REDUCE_MAX, v1::REDUCE_MIN}) {
      b.output(b.reduce(op, x, {1}));
      b.output(b.reduce(op, y, {1}));
    }
    Program program(b.graph());
    for (const std::int64_t length : {0, 1, 4}) {
      program.check({{HostTensor(dtype, {3, 0}), ramp(dtype, {3, length})}, {length}}, Tolerance::exact());
    }
  }
}

TEST_CASE("reductions of NaN and infinity") {
  for (const Scalar dtype : kFloats) {
    INFO(ir::to_string(dtype));
    const HostTensor x = HostTensor::from_values(dtype, {3, 3}, {1, NAN, 2, INFINITY, 1, 0, -INFINITY, -3, -4});
    GraphBuilder b;
    const Node in = b.input(wire(dtype), {3, 3});
    for (const v1::Op op : {v1::REDUCE_SUM, v1::REDUCE_PROD, v1::REDUCE_MAX, v1::REDUCE_MIN})
      b.output(b.reduce(op, in, {1}));
    Program(b.graph()).check({{x}, {}}, Tolerance::exact());
  }
}

TEST_CASE("long float sums stay near the sum in double") {
  for (const Scalar dtype : kFloats) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    b.output(b.reduce(v1::REDUCE_SUM, b.input(wire(dtype), {2, 1003}), {1}));
    // 1,003 terms below 2: an f32 accumulator loses a few steps, a narrow one would lose everything.
    const double slack = 64 * epsilon(dtype == Scalar::F64 ? Scalar::F64 : Scalar::F32);
    Program(b.graph()).check({{uniform(dtype, {2, 1003})}, {}}, {2 * epsilon(dtype), slack * 20});
  }
}

TEST_CASE("matmul on every dtype and odd sizes") {
  std::vector<Scalar> all = kIntegers;
  all.insert(all.end(), kFloats.begin(), kFloats.end());
  all.insert(all.end(), kFp8.begin(), kFp8.end());
  for (const Scalar dtype : all) {
    INFO(ir::to_string(dtype));
    GraphBuilder b;
    const Node x = b.input(wire(dtype), {2, 3, 5}), y = b.parameter(wire(dtype), {2, 5, 7});
    b.output(b.op(v1::MATMUL, {x, y}));
    Program(b.graph()).check({{ramp(dtype, {2, 3, 5}, 1), ramp(dtype, {2, 5, 7}, 2)}, {}}, Tolerance::exact());
  }
  const std::vector<Shape> sizes = {{1, 1, 1}, {1, 64, 1}, {17, 1, 9},  {16, 32, 16},
                                    {5, 0, 3}, {0, 4, 2},  {33, 19, 21}};
  for (const Shape& s : sizes) {
    CAPTURE(s);
    GraphBuilder b;
    const Node x = b.input(v1::F32, {s[0], s[1]}), y = b.input(v1::F32, {s[1], s[2]});
    b.output(b.op(v1::MATMUL, {x, y}));
    b.output(b.op(v1::MATMUL, {b.permute(y, {1, 0}), b.permute(x, {1, 0})}));
    Program(b.graph()).check({{ramp(Scalar::F32, {s[0], s[1]}, 1), ramp(Scalar::F32, {s[1], s[2]}, 2)}, {}},
                             Tolerance::exact());
  }
}

TEST_CASE("a square matrix times its own transpose is no matrix of its rows' squares") {
  for (const std::int64_t n : {3, 5, 6, 7, 8, 12}) {
    INFO(n);
    GraphBuilder b;
    const Node x = b.input(v1::F32, {3, n, 4}), y = b.input(v1::I32, {n, 5});
    b.output(b.op(v1::MATMUL, {x, b.permute(x, {0, 2, 1})}));
    b.output(b.op(v1::MATMUL, {y, b.permute(y, {1, 0})}));
    Program(b.graph()).check({{ramp(Scalar::F32, {3, n, 4}), ramp(Scalar::I32, {n, 5}, 2)}, {}}, Tolerance{1e-6, 1e-6});
  }
}

TEST_CASE("softmax") {
  for (const Scalar dtype : kFloats) {
    for (const Shape& shape : {Shape{3, 7}, {2, 3, 16}, {1, 1}, {4, 33}}) {
      CAPTURE(ir::to_string(dtype), shape);
      GraphBuilder b;
      b.output(softmax(b, b.input(wire(dtype), dims(shape)), shape));
      Program(b.graph()).check({{uniform(dtype, shape)}, {}}, roundings(dtype, 16));
    }
  }
}

TEST_CASE("layer norm with scale and shift") {
  for (const Scalar dtype : {Scalar::F32, Scalar::F64}) {
    INFO(ir::to_string(dtype));
    const Shape shape = {5, 19};
    GraphBuilder b;
    const Node x = b.input(wire(dtype), dims(shape));
    const Node scale = b.parameter(wire(dtype), {1, 19}), shift = b.parameter(wire(dtype), {1, 19});
    const auto fill = [&](double value, const Shape& s) {
      return b.fill(wire(dtype), {0, codegen::reference::round_float(dtype, value)}, dims(s));
    };
    const Node mean = b.op(v1::MUL, {b.reduce(v1::REDUCE_SUM, x, {1}), fill(1.0 / 19, {5, 1})});
    const Node centred = with_row(b, v1::SUB, x, mean, shape);
    const Node variance =
        b.op(v1::MUL, {b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {centred, centred}), {1}), fill(1.0 / 19, {5, 1})});
    const Node deviation = b.op(v1::SQRT, {b.op(v1::ADD, {variance, fill(1e-5, {5, 1})})});
    const Node normal = with_row(b, v1::DIV, centred, deviation, shape);
    b.output(with_row(b, v1::ADD, with_row(b, v1::MUL, normal, scale, shape), shift, shape));
    Program(b.graph()).check({{uniform(dtype, shape, 1), uniform(dtype, {1, 19}, 2), uniform(dtype, {1, 19}, 3)}, {}},
                             roundings(dtype, 64));
  }
}

// x [n, c, h, w], weight [o, c, k, k] -> [n, o, h', w'] by windows and a sum, padding 1.
Node convolution(GraphBuilder& b, Node x, Node weight, const Shape& s, std::int64_t o, std::int64_t k,
                 std::int64_t stride) {
  const Node padded = b.pad(x, {0, 0, 0, 0, 1, 1, 1, 1});
  const Node windows = b.unfold(b.unfold(padded, 2, k, stride, 1), 3, k, stride, 1);  // [n, c, h', w', k, k]
  const std::int64_t h = (s[2] + 2 - k) / stride + 1, w = (s[3] + 2 - k) / stride + 1;
  const Node left = b.expand(b.reshape(windows, {s[0], 1, s[1], h, w, k, k}), {s[0], o, s[1], h, w, k, k});
  const Node right = b.expand(b.reshape(weight, {1, o, s[1], 1, 1, k, k}), {s[0], o, s[1], h, w, k, k});
  return b.reshape(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {left, right}), {2, 5, 6}), {s[0], o, h, w});
}

TEST_CASE("convolution, relu, max pool") {
  for (const std::int64_t stride : {1, 2}) {
    CAPTURE(stride);
    const Shape s = {2, 3, 8, 8};
    GraphBuilder b;
    const Node x = b.input(v1::F32, dims(s)), weight = b.parameter(v1::F32, {5, 3, 3, 3});
    const std::int64_t size = stride == 1 ? 8 : 4;
    const Node y = convolution(b, x, weight, s, 5, 3, stride);
    const Node relu = b.op(v1::MAX, {y, b.fill(v1::F32, {}, {2, 5, size, size})});
    const Node pool = b.reduce(v1::REDUCE_MAX, b.unfold(b.unfold(relu, 2, 2, 2, 1), 3, 2, 2, 1), {4, 5});
    b.output(b.reshape(pool, {2, 5 * (size / 2) * (size / 2)}));
    Program(b.graph()).check({{ramp(Scalar::F32, s, 1), ramp(Scalar::F32, {5, 3, 3, 3}, 2)}, {}}, Tolerance::exact());
  }
}

TEST_CASE("attention") {
  const Shape head = {2, 7, 6};
  GraphBuilder b;
  const Node q = b.input(v1::F32, dims(head)), k = b.input(v1::F32, dims(head)), v = b.input(v1::F32, dims(head));
  const Node scores = b.op(v1::MATMUL, {q, b.permute(k, {0, 2, 1})});
  const Node row = b.iota(v1::I32, {2, 7, 7}, 1), column = b.iota(v1::I32, {2, 7, 7}, 2);
  const Node masked = b.op(v1::WHERE, {b.op(v1::LE, {column, row}), scores, b.fill(v1::F32, {0, -1e9}, {2, 7, 7})});
  b.output(b.op(v1::MATMUL, {softmax(b, masked, {2, 7, 7}), v}));
  Program(b.graph()).check(
      {{uniform(Scalar::F32, head, 1), uniform(Scalar::F32, head, 2), uniform(Scalar::F32, head, 3)}, {}},
      roundings(Scalar::F32, 64));
}

TEST_CASE("several outputs share a subgraph; an output is an input; an output twice") {
  GraphBuilder b;
  const Node x = b.input(v1::I32, {4, 5});
  const Node shared = b.op(v1::MUL, {b.op(v1::ADD, {x, x}), x});
  const Node sum = b.reduce(v1::REDUCE_SUM, shared, {1});
  b.output(shared);
  b.output(sum);
  b.output(b.op(v1::SUB, {shared, b.expand(sum, {4, 5})}));
  b.output(x);
  b.output(shared);
  b.output(b.permute(x, {1, 0}));
  Program(b.graph()).check({{ramp(Scalar::I32, {4, 5})}, {}}, Tolerance::exact());
}

TEST_CASE("what depends on parameters alone, a chain of stored values") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {3, 4}), weight = b.parameter(v1::F32, {4, 4});
  const Node packed = b.op(v1::CONTIGUOUS, {b.permute(b.op(v1::ADD, {weight, weight}), {1, 0})});
  Node y = x;
  for (int layer = 0; layer < 4; ++layer) {
    y = b.op(v1::MATMUL, {y, packed});
    y = b.op(v1::MIN, {b.op(v1::MAX, {y, b.fill(v1::F32, {0, -4.0}, {3, 4})}), b.fill(v1::F32, {0, 4.0}, {3, 4})});
    y = b.op(v1::CONTIGUOUS, {y});
  }
  b.output(y);
  Program(b.graph()).check({{ramp(Scalar::F32, {3, 4}, 1), ramp(Scalar::F32, {4, 4}, 2)}, {}}, Tolerance::exact());
}

TEST_CASE("running sum by windows; first position of the maximum") {
  GraphBuilder b;
  const Node x = b.input(v1::I32, {3, 9});
  b.output(b.reduce(v1::REDUCE_SUM, b.unfold(b.pad(x, {0, 0, 8, 0}), 1, 9, 1, 1), {2}));
  const Node best = b.expand(b.reduce(v1::REDUCE_MAX, x, {1}), {3, 9});
  const Node position =
      b.op(v1::WHERE, {b.op(v1::EQ, {x, best}), b.iota(v1::I32, {3, 9}, 1), b.fill(v1::I32, {9, 0}, {3, 9})});
  b.output(b.reduce(v1::REDUCE_MIN, position, {1}));
  Program(b.graph()).check({{ramp(Scalar::I32, {3, 9})}, {}}, Tolerance::exact());
}

TEST_CASE("reduction of a reduction, of padding, of a cat") {
  GraphBuilder b;
  const Node x = b.input(v1::I64, {4, 3, 5});
  b.output(b.reduce(v1::REDUCE_MAX, b.reduce(v1::REDUCE_SUM, x, {2}), {0}));
  b.output(b.reduce(v1::REDUCE_SUM, b.pad(x, {1, 0, 0, 2, 3, 0}, {2, 2.0}), {0, 2}));
  const Node y = b.shrink(x, {0, 4, 1, 2, 0, 5});
  b.output(b.reduce(v1::REDUCE_SUM, b.cat({x, y, b.flip(x, {1})}, 1), {1}));
  Program(b.graph()).check({{ramp(Scalar::I64, {4, 3, 5})}, {}}, Tolerance::exact());
}

// As the places of a NeRF: vectors run along rows where rows are whole vectors, each part is computed once.
TEST_CASE("sines and cosines of many frequencies side by side") {
  for (const std::int64_t rows : {48, 50}) {
    CAPTURE(rows);
    GraphBuilder b;
    const Node x = b.input(v1::F32, {rows, 3});
    std::vector<Node> parts = {x};
    for (int octave = 0; octave < 5; ++octave) {
      const Node wave = b.op(v1::MUL, {x, b.fill(v1::F32, {0, std::ldexp(1.0, octave)}, {rows, 3})});
      for (const v1::Op op : {v1::SIN, v1::COS}) parts.push_back(b.op(op, {wave}));
    }
    b.output(b.cat(parts, 1));
    for (const v1::Target& target : {wide_target(), host_target()}) {
      Program(b.graph(), target).check({{uniform(Scalar::F32, {rows, 3}, 3)}, {}}, roundings(Scalar::F32, 16));
    }
  }
}

TEST_CASE("a long chain and a wide graph") {
  GraphBuilder b;
  Node x = b.input(v1::I32, {6});
  const Node start = x;
  for (int k = 0; k < 200; ++k)
    x = b.op(k % 3 == 0 ? v1::XOR : v1::ADD, {x, k % 2 == 0 ? start : b.fill(v1::I32, {k, 0}, {6})});
  b.output(x);
  Program(b.graph()).check({{ramp(Scalar::I32, {6})}, {}}, Tolerance::exact());
}

}  // namespace
}  // namespace hearth::conformance
