// Reductions of more rounds than one invocation of a device makes: made in stages, or refused by name.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

v1::Target lavapipe() { return *runtime::named_target("vulkan:lavapipe"); }

GraphBuilder reduction(Scalar dtype, v1::Op op, const Shape& shape, const std::vector<std::int64_t>& axes) {
  GraphBuilder b;
  Dims dims;
  for (const std::int64_t n : shape) dims.push_back(n);
  b.output(b.reduce(op, b.input(wire(dtype), dims), axes));
  return b;
}

TEST_CASE("a reduction of 100,000 elements and more is whole") {
  const Shape prime = {70'001}, rows = {3, 66'000}, image = {2, 257, 256};
  for (const v1::Op op : {v1::REDUCE_SUM, v1::REDUCE_MAX, v1::REDUCE_MIN, v1::REDUCE_PROD}) {
    CAPTURE(v1::Op_Name(op));
    for (const Scalar dtype : {Scalar::I32, Scalar::I64, Scalar::U8}) {
      Program(reduction(dtype, op, prime, {0}).graph()).check({{ramp(dtype, prime, 3)}, {}}, Tolerance::exact());
    }
    Program(reduction(Scalar::I32, op, rows, {1}).graph())
        .check({{ramp(Scalar::I32, rows, 4)}, {}}, Tolerance::exact());
    Program(reduction(Scalar::I32, op, image, {1, 2}).graph())
        .check({{ramp(Scalar::I32, image, 5)}, {}}, Tolerance::exact());
  }
  // Small integers, whose sums are exact in whatever order, and in 16 bits only at the end.
  for (const Scalar dtype : {Scalar::F32, Scalar::F16, Scalar::BF16}) {
    HostTensor ones = HostTensor(dtype, {100'000});
    for (std::int64_t i = 0; i < 100'000; ++i) ones.set(i, {.f = i % 4 == 0 ? 1.0 : 0.0});
    Program(reduction(dtype, v1::REDUCE_SUM, {100'000}, {0}).graph()).check({{ones}, {}}, Tolerance::exact());
    Program(reduction(dtype, v1::REDUCE_MAX, {100'000}, {0}).graph()).check({{ones}, {}}, Tolerance::exact());
  }
}

TEST_CASE("a product of matrices of 70,000 columns, and a softmax of as many, are whole") {
  GraphBuilder b;
  b.output(b.op(v1::MATMUL, {b.input(v1::I32, {2, 70'000}), b.input(v1::I32, {70'000, 3})}));
  Program(b.graph()).check({{ramp(Scalar::I32, {2, 70'000}, 1), ramp(Scalar::I32, {70'000, 3}, 2)}, {}},
                           Tolerance::exact());
  GraphBuilder s;
  const Dims shape = {2, 66'001}, row = {2, 1};
  const Node x = s.input(v1::F32, shape);
  const Node powers = s.op(v1::EXP, {s.op(v1::SUB, {x, s.expand(s.reduce(v1::REDUCE_MAX, x, {1}), shape)})});
  s.output(s.op(v1::DIV, {powers, s.expand(s.reduce(v1::REDUCE_SUM, powers, {1}), shape)}));
  Program(s.graph()).check({{uniform(Scalar::F32, {2, 66'001}, 7)}, {}}, roundings(Scalar::F32, 1000));
}

TEST_CASE("a reduction along a length that is only bounded is whole for each of its values") {
  GraphBuilder b;
  const Dim n = b.var("n", 1, 90'000);
  b.output(b.reduce(v1::REDUCE_SUM, b.input(v1::I32, {2, n}), {1}));
  b.output(b.reduce(v1::REDUCE_MAX, b.input(v1::I32, {n}), {0}));
  Program program(b.graph());
  for (const std::int64_t length : {1, 300, 301, 65'536, 90'000}) {
    program.check({{ramp(Scalar::I32, {2, length}, 3), ramp(Scalar::I32, {length}, 4)}, {length}}, Tolerance::exact());
  }
}

TEST_CASE("no kernel makes more rounds than the target lets an invocation make") {
  for (const Shape& shape : {Shape{1, 70'001}, Shape{4, 300, 300}, Shape{2, 40'000}, Shape{1'000'000}}) {
    GraphBuilder b = reduction(Scalar::F32, v1::REDUCE_SUM, shape, {static_cast<std::int64_t>(shape.size()) - 1});
    CHECK(compiler::lower(b.graph(), lavapipe(), v1::CompileOptions()).ok());
  }
  v1::Target slow = lavapipe();
  slow.mutable_gpu()->set_max_loop_rounds(0);
  slow.mutable_gpu()->set_max_invocation_ms(25);  // ten thousand rounds
  const GraphBuilder b = reduction(Scalar::F32, v1::REDUCE_SUM, {20'000}, {0});
  const auto lowered = compiler::lower(b.graph(), slow, v1::CompileOptions());
  REQUIRE(lowered.ok());
  CHECK(lowered->plan().launches_size() > 1);
}

TEST_CASE("what cannot be made in stages is refused by its name and the number of rounds") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {100'000}), at = b.input(v1::I64, {70'000});
  b.output(b.scatter(x, at, b.input(v1::F32, {70'000}), 0));
  const absl::Status refused = compiler::lower(b.graph(), lavapipe(), v1::CompileOptions()).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("kernel 'hearth_scatter_") &&
                                                 Catch::Contains("loop rounds in one invocation") &&
                                                 Catch::Contains("target vulkan:lavapipe ends it after 65535"));
}

}  // namespace
}  // namespace hearth::conformance
