// f32 products whose weights are stored as bf16 or int8: the kernels that read them widen them, whatever the layout,
// and no plan holds them as f32.
#include <catch2/catch.hpp>

#include "compiler/ir/dtype.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/sanitizer.h"

namespace hearth::conformance {
namespace {

using codegen::reference::Element;
using ir::Scalar;

struct NarrowSizes {
  std::int64_t m, k, n;
};
// Rows of one step and of a prompt, lengths that fill vectors and that do not, more columns than one panel has.
const NarrowSizes kNarrowSizes[] = {{1, 64, 64}, {1, 33, 300}, {5, 7, 40}, {17, 33, 19}, {32, 64, 160}, {40, 96, 64}};
const Scalar kNarrow[] = {Scalar::BF16, Scalar::I8};

Node widened(GraphBuilder& b, Node weight) { return b.cast(weight, v1::F32); }

// Everything the plan keeps between replays has the weights' own type.
bool keeps_only(const Program& program, Scalar narrow) {
  bool any = false;
  for (const v1::PlanBuffer& buffer : program.lowered().plan().buffers()) {
    if (buffer.kind() != v1::PlanBuffer::PERSISTENT && buffer.kind() != v1::PlanBuffer::PARAMETER) continue;
    UNSCOPED_INFO(v1::PlanBuffer::Kind_Name(buffer.kind()) << " " << v1::DType_Name(buffer.dtype()));
    if (buffer.dtype() != wire(narrow)) return false;
    any = true;
  }
  return any;
}

bool packs(const Program& program) {
  for (const v1::PlanBuffer& buffer : program.lowered().plan().buffers()) {
    if (buffer.kind() == v1::PlanBuffer::PERSISTENT) return true;
  }
  return false;
}

TEST_CASE("products of f32 rows and narrow weights, as they are and transposed") {
  int packed = 0;
  for (const Scalar narrow : kNarrow) {
    for (const NarrowSizes& s : kNarrowSizes) {
      if (test::kSanitizer && s.m * s.k * s.n > 100'000) continue;  // time
      CAPTURE(ir::to_string(narrow), s.m, s.k, s.n);
      GraphBuilder b;
      const Node x = b.input(v1::F32, {s.m, s.k});
      const Node w = b.parameter(wire(narrow), {s.k, s.n}), t = b.parameter(wire(narrow), {s.n, s.k});
      b.output(b.op(v1::MATMUL, {x, widened(b, w)}));
      b.output(b.op(v1::MATMUL, {x, b.permute(widened(b, t), {1, 0})}));
      Program program(b.graph(), wide_target());
      // Small integers: exact whatever the order.
      program.check({{ramp(Scalar::F32, {s.m, s.k}, 1), ramp(narrow, {s.k, s.n}, 2), ramp(narrow, {s.n, s.k}, 3)}, {}},
                    Tolerance::exact());
      CHECK(keeps_only(program, narrow));
      packed += packs(program);
    }
  }
  CHECK(packed >= 6);
}

TEST_CASE("a narrow product's scale, bias and activation, over symbolic rows") {
  for (const Scalar narrow : kNarrow) {
    CAPTURE(ir::to_string(narrow));
    GraphBuilder b;
    const Dim rows = b.var("rows", 1, 40);
    const Node x = b.input(v1::F32, {rows, 37}), w = b.parameter(wire(narrow), {37, 50});
    const Node scale = b.input(v1::F32, {1, 50}), bias = b.input(v1::F32, {1, 50});
    const Node product = b.op(v1::MATMUL, {x, widened(b, w)});
    const Node scaled = b.op(v1::MUL, {product, b.expand(scale, {rows, 50})});
    const Node sum = b.op(v1::ADD, {scaled, b.expand(bias, {rows, 50})});
    b.output(b.op(v1::MAX, {sum, b.fill(v1::F32, {0, 0.0}, {rows, 50})}));
    Program program(b.graph(), wide_target());
    for (const std::int64_t n : {1, 6, 13, 40}) {
      CAPTURE(n);
      program.check({{ramp(Scalar::F32, {n, 37}, 1), ramp(narrow, {37, 50}, 2), ramp(Scalar::F32, {1, 50}, 3),
                      ramp(Scalar::F32, {1, 50}, 4)},
                     {n}},
                    Tolerance::exact());
    }
    CHECK(keeps_only(program, narrow));
  }
}

TEST_CASE("a convolution with narrow weights") {
  // x [c, h, w], weights [o, c, 3, 3], as unfold + multiply + sum.
  for (const Scalar narrow : kNarrow) {
    CAPTURE(ir::to_string(narrow));
    GraphBuilder b;
    const std::int64_t c = 6, o = 40, h = 9, w = 9;
    const Node x = b.input(v1::F32, {c, h, w}), weights = b.parameter(wire(narrow), {o, c, 3, 3});
    Node windows = b.unfold(b.unfold(x, 1, 3, 1, 1), 2, 3, 1, 1);  // [c, 7, 7, 3, 3]
    windows = b.expand(b.reshape(windows, {1, c, 7, 7, 3, 3}), {o, c, 7, 7, 3, 3});
    const Node filters = b.expand(b.reshape(widened(b, weights), {o, c, 1, 1, 3, 3}), {o, c, 7, 7, 3, 3});
    b.output(b.reduce(v1::REDUCE_SUM, b.op(v1::MUL, {windows, filters}), {1, 4, 5}));
    Program program(b.graph(), wide_target());
    program.check({{ramp(Scalar::F32, {c, h, w}, 1), ramp(narrow, {o, c, 3, 3}, 2)}, {}}, Tolerance::exact());
    CHECK(keeps_only(program, narrow));
  }
}

TEST_CASE("a narrow table that rows are picked from is also the last product's weights, and is held once") {
  for (const Scalar narrow : kNarrow) {
    CAPTURE(ir::to_string(narrow));
    GraphBuilder b;
    const std::int64_t words = 70, width = 24;
    const Node table = b.parameter(wire(narrow), {words, width}), tokens = b.input(v1::I64, {5});
    const Node x = b.gather(widened(b, table), tokens, 0);
    b.output(b.op(v1::MATMUL, {b.op(v1::ADD, {x, x}), b.permute(widened(b, table), {1, 0})}));
    Program program(b.graph(), wide_target());
    HostTensor picked(Scalar::I64, {5});
    const std::int64_t which[] = {0, 69, 3, 3, 17};
    for (std::int64_t i = 0; i < 5; ++i) picked.set(i, codegen::reference::Element::of_int(which[i]));
    program.check({{ramp(narrow, {words, width}, 1), picked}, {}}, Tolerance::exact());
    CHECK(keeps_only(program, narrow));
  }
}

// [m, words * 8] times [words * 8, n]: eight numbers of four bits a word, less eight, times a scale a word and column.
TEST_CASE("weights of four bits in words stay words: products unpack them as they read them") {
  for (const NarrowSizes& s : {NarrowSizes{1, 12, 96}, NarrowSizes{3, 5, 33}, NarrowSizes{16, 8, 64}}) {
    CAPTURE(s.m, s.k, s.n);
    GraphBuilder b;
    const Dims all = {s.m, s.k, 8, s.n}, weights = {s.k, 8, s.n};
    const Node x = b.input(v1::F32, {s.m, s.k, 8}), words = b.parameter(v1::U32, {s.k, s.n}),
               scales = b.parameter(v1::F32, {s.k, s.n});
    const auto by_word = [&](Node y) { return b.expand(b.reshape(y, {s.k, 1, s.n}), weights); };
    const Node shifts = b.op(v1::MUL, {b.iota(v1::U32, weights, 1), b.fill(v1::U32, Element::of_int(4), weights)});
    const Node numbers =
        b.op(v1::AND, {b.op(v1::SHR, {by_word(words), shifts}), b.fill(v1::U32, Element::of_int(15), weights)});
    const Node centred = b.op(v1::SUB, {b.cast(numbers, v1::F32), b.fill(v1::F32, Element::of_float(8), weights)});
    const Node unpacked = b.op(v1::MUL, {centred, by_word(scales)});
    const Node product = b.op(
        v1::MUL, {b.expand(b.reshape(x, {s.m, s.k, 8, 1}), all), b.expand(b.reshape(unpacked, {1, s.k, 8, s.n}), all)});
    b.output(b.reshape(b.reduce(v1::REDUCE_SUM, product, {1, 2}), {s.m, s.n}));
    Program program(b.graph(), wide_target());
    program.check(
        {{ramp(Scalar::F32, {s.m, s.k, 8}, 1), uniform(Scalar::U32, {s.k, s.n}, 2), ramp(Scalar::F32, {s.k, s.n}, 3)},
         {}},
        Tolerance::exact());
    double kept = 0;
    for (const v1::PlanBuffer& buffer : program.lowered().plan().buffers()) {
      if (buffer.kind() == v1::PlanBuffer::PERSISTENT) kept += static_cast<double>(buffer.max_bytes());
    }
    CHECK(kept <= 3.0 * 4 * static_cast<double>(s.k * s.n));  // words and scales in another order; f32 would be eight
  }
}

}  // namespace
}  // namespace hearth::conformance
