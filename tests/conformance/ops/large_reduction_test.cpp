// Reductions to one value that threads divide (passes/tensor/split_reductions), beside the reference interpreter.
#include <catch2/catch.hpp>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

v1::Target two_threads() {
  v1::Target target = host_target();
  target.set_threads(2);
  return target;
}

bool is_divided(const Program& program) {
  return std::ranges::any_of(program.lowered().plan().launches(), [](const v1::Launch& launch) {
    return launch.grid().tokens_size() == 1 && launch.grid().tokens(0).value() >= 2;
  });
}

void check(Scalar dtype, v1::Op kind, const Shape& shape, const Tolerance& tolerance, bool divided = true) {
  GraphBuilder b;
  Dims dims;
  std::vector<std::int64_t> axes;
  for (const std::int64_t n : shape) axes.push_back(static_cast<std::int64_t>(dims.size())), dims.push_back(n);
  const Node x = b.input(wire(dtype), dims);
  b.output(b.reduce(kind, b.op(v1::ABS, {x}), axes));
  Program program(b.graph(), two_threads());
  CAPTURE(shape);
  CHECK(is_divided(program) == divided);
  program.check({{ir::is_int(dtype) ? ramp(dtype, shape, 3) : uniform(dtype, shape, 5)}, {}}, tolerance);
}

TEST_CASE("large reductions to one value are divided between threads") {
  const Shape flat = {1 << 18}, folded = {1, 96, 1, 4096}, odd = {3, 7, 16384};
  check(Scalar::F32, v1::REDUCE_SUM, flat, roundings(Scalar::F32, 1 << 10));
  check(Scalar::F32, v1::REDUCE_MAX, folded, Tolerance::exact());
  check(Scalar::F32, v1::REDUCE_MIN, folded, Tolerance::exact());
  check(Scalar::I32, v1::REDUCE_SUM, folded, Tolerance::exact());
  check(Scalar::I32, v1::REDUCE_PROD, folded, Tolerance::exact());
  // One rounding at the end: parts that were stored as bf16 would be eight bits apart.
  check(Scalar::BF16, v1::REDUCE_SUM, folded, roundings(Scalar::BF16, 2));
  check(Scalar::F64, v1::REDUCE_SUM, odd, roundings(Scalar::F64, 1 << 10));
  // Nothing to divide by, and too small to be worth it.
  check(Scalar::F32, v1::REDUCE_SUM, {262147}, roundings(Scalar::F32, 1 << 10), false);
  check(Scalar::F32, v1::REDUCE_SUM, {1 << 12}, roundings(Scalar::F32, 1 << 8), false);
}

TEST_CASE("a mean over everything that its elements are compared with") {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {512, 1024});
  const Node mean =
      b.op(v1::MUL, {b.reduce(v1::REDUCE_SUM, x, {0, 1}), b.fill(v1::F32, {0, 1.0 / (512 * 1024)}, {1, 1})});
  b.output(b.op(v1::SUB, {x, b.expand(mean, {512, 1024})}));
  Program program(b.graph(), two_threads());
  program.check({{uniform(Scalar::F32, {512, 1024}, 9)}, {}}, roundings(Scalar::F32, 64));
}

}  // namespace
}  // namespace hearth::conformance
