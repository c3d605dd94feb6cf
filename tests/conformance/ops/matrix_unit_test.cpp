// Narrow products on matrix units (bf16 in f32, bytes in i32): odd sizes, operands that are parameters or inputs in any
// layout, symbolic rows, epilogues, and what the units may do with subnormals, NaN and infinity.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/sanitizer.h"

namespace hearth::conformance {
namespace {

using codegen::reference::Element;
using ir::Scalar;

struct Sizes {
  std::int64_t m, k, n;
};
const Sizes kSizes[] = {{1, 64, 64}, {2, 2, 16}, {17, 33, 19}, {16, 32, 48}, {5, 7, 64}, {33, 65, 100}, {64, 3, 20}};

// Bytes over their whole range, so that sums of four products need more than 16 bits.
HostTensor bytes(Scalar dtype, const Shape& shape, std::uint64_t seed) {
  HostTensor t(dtype, shape);
  Random random(seed);
  for (auto& byte : t.bytes) byte = static_cast<std::uint8_t>(random.one_in(4) ? 0x80 : random.next());
  return t;
}

bool uses_unit(const Program& program) {
  for (const v1::KernelSpec& kernel : program.lowered().kernels()) {
    if (kernel.ast().find(" dot]") != std::string::npos) return true;
  }
  return false;
}

Node product(GraphBuilder& b, Node x, Node y, Scalar sum) {
  return b.op(v1::MATMUL, {b.cast(x, wire(sum)), b.cast(y, wire(sum))});
}

TEST_CASE("bf16 products of odd sizes") {
  int units = 0;
  for (const Sizes& s : kSizes) {
    for (const bool wide : {false, true}) {
      if (test::kSanitizer && !wide) continue;  // time
      CAPTURE(s.m, s.k, s.n, wide);
      GraphBuilder b;
      const Node x = b.input(v1::BF16, {s.m, s.k}), w = b.parameter(v1::BF16, {s.k, s.n});
      const Node y = b.input(v1::BF16, {s.k, s.n});
      b.output(b.op(v1::MATMUL, {x, w}));
      b.output(b.cast(b.op(v1::MATMUL, {x, y}), v1::F32));
      b.output(product(b, x, w, Scalar::F32));
      b.output(product(b, b.permute(y, {1, 0}), b.permute(x, {1, 0}), Scalar::F32));
      Program program(b.graph(), wide ? wide_target() : host_target());
      // Small integers: exact whatever the order.
      program.check(
          {{ramp(Scalar::BF16, {s.m, s.k}, 1), ramp(Scalar::BF16, {s.k, s.n}, 2), ramp(Scalar::BF16, {s.k, s.n}, 3)},
           {}},
          Tolerance::exact());
      // Others: |sum| <= k * 4, and each of at most k steps rounds to 2^-24 of a partial sum.
      const double error = static_cast<double>(s.k * s.k) * 4 * 0x1p-24;
      program.check({{uniform(Scalar::BF16, {s.m, s.k}, 4), uniform(Scalar::BF16, {s.k, s.n}, 5),
                      uniform(Scalar::BF16, {s.k, s.n}, 6)},
                     {}},
                    {0x1p-7, error});
      units += uses_unit(program);
    }
  }
  CHECK(units >= (test::kSanitizer ? 4 : 8));
}

TEST_CASE("byte products of odd sizes wrap like sums in i32") {
  int units = 0;
  for (const Sizes& s : kSizes) {
    for (const auto& [left, right] : {std::pair{Scalar::U8, Scalar::I8},
                                      {Scalar::I8, Scalar::U8},
                                      {Scalar::I8, Scalar::I8},
                                      {Scalar::U8, Scalar::U8}}) {
      CAPTURE(s.m, s.k, s.n, ir::to_string(left), ir::to_string(right));
      GraphBuilder b;
      const Node x = b.input(wire(left), {s.m, s.k}), w = b.parameter(wire(right), {s.k, s.n});
      b.output(product(b, x, w, Scalar::I32));
      Program program(b.graph(), dot_target());
      program.check({{bytes(left, {s.m, s.k}, 1), bytes(right, {s.k, s.n}, 2)}, {}}, Tolerance::exact());
      units += uses_unit(program);
    }
  }
  const bool has_units = dot_target().features_size() > host_target().features_size();  // else dot_target() says so
  CHECK(units >= (has_units ? 16 : 0));
}

TEST_CASE("symbolic rows, a bias and an activation around a narrow product") {
  GraphBuilder b;
  const Dim rows = b.var("rows", 1, 40);
  const Node x = b.input(v1::BF16, {rows, 37}), w = b.parameter(v1::BF16, {37, 50}),
             bias = b.parameter(v1::F32, {1, 50});
  const Node sum = b.op(v1::ADD, {product(b, x, w, Scalar::F32), b.expand(bias, {rows, 50})});
  b.output(b.op(v1::MAX, {sum, b.fill(v1::F32, {0, 0.0}, {rows, 50})}));
  b.output(b.cast(sum, v1::BF16));
  Program program(b.graph(), wide_target());
  CHECK(uses_unit(program));
  for (const std::int64_t n : {1, 5, 6, 13, 40}) {
    CAPTURE(n);
    program.check(
        {{ramp(Scalar::BF16, {n, 37}, 1), ramp(Scalar::BF16, {37, 50}, 2), ramp(Scalar::F32, {1, 50}, 3)}, {n}},
        Tolerance::exact());
  }
}

TEST_CASE("a convolution in bf16") {
  // x [n, c, h, w], weights [o, c, 3, 3], as unfold + multiply + sum in f32.
  GraphBuilder b;
  const std::int64_t c = 6, o = 20, h = 9, w = 9;
  const Node x = b.input(v1::BF16, {c, h, w}), weights = b.parameter(v1::BF16, {o, c, 3, 3});
  Node windows = b.unfold(b.unfold(x, 1, 3, 1, 1), 2, 3, 1, 1);  // [c, 7, 7, 3, 3]
  windows = b.expand(b.reshape(windows, {1, c, 7, 7, 3, 3}), {o, c, 7, 7, 3, 3});
  const Node filters = b.expand(b.reshape(weights, {o, c, 1, 1, 3, 3}), {o, c, 7, 7, 3, 3});
  b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {b.cast(windows, v1::F32), b.cast(filters, v1::F32)}), {1, 4, 5}));
  Program program(b.graph(), wide_target());
  program.check({{ramp(Scalar::BF16, {c, h, w}, 1), ramp(Scalar::BF16, {o, c, 3, 3}, 2)}, {}}, Tolerance::exact());
}

TEST_CASE("NaN and infinity go through a narrow product") {
  GraphBuilder b;
  const Node x = b.input(v1::BF16, {4, 6}), w = b.parameter(v1::BF16, {6, 32});
  b.output(product(b, x, w, Scalar::F32));
  HostTensor left = ramp(Scalar::BF16, {4, 6}, 1);
  left.set(1, Element::of_float(NAN));
  left.set(6 + 3, Element::of_float(INFINITY));
  left.set(12 + 5, Element::of_float(-INFINITY));
  HostTensor right = HostTensor(Scalar::BF16, {6, 32});
  for (std::int64_t i = 0; i < 6 * 32; ++i) right.set(i, Element::of_float(i % 7 == 0 ? 0 : i % 5 == 0 ? -1 : 2));
  Program(b.graph(), wide_target()).check({{left, right}, {}}, Tolerance::exact());
}

}  // namespace
}  // namespace hearth::conformance
