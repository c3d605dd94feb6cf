// The judge of all conformance tests: what it takes for equal, and what not.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/zero_sign.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

bool agree(double got, double want, Tolerance tolerance, Scalar dtype = Scalar::F32) {
  const Tensors a = {HostTensor::from_values(dtype, {1}, {got})}, b = {HostTensor::from_values(dtype, {1}, {want})};
  return difference(a, b, {tolerance}).empty();
}

TEST_CASE("an exact row tells -0 from +0 and NaN from numbers, and allows no last bit") {
  const Tolerance exact = Tolerance::exact();
  for (const Scalar dtype : {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64, Scalar::F8E4M3, Scalar::F8E5M2}) {
    INFO(ir::to_string(dtype));
    CHECK(agree(-0.0, -0.0, exact, dtype));
    CHECK_FALSE(agree(0.0, -0.0, exact, dtype));
    CHECK_FALSE(agree(-0.0, 0.0, exact, dtype));
    CHECK(agree(NAN, NAN, exact, dtype));
    CHECK_FALSE(agree(NAN, 1, exact, dtype));
    CHECK_FALSE(agree(1, NAN, exact, dtype));
    CHECK_FALSE(agree(1 + epsilon(dtype), 1, exact, dtype));
  }
  CHECK_FALSE(agree(INFINITY, -INFINITY, exact));
  CHECK(agree(-0.0, 0.0, {0, 0, true}));
  CHECK_FALSE(agree(1 + 0x1p-23, 1, {0, 0, true}));
}

TEST_CASE("a row with a tolerance still tells NaN and infinity from numbers") {
  const Tolerance wide{0.1, 0.1};
  CHECK(agree(1.05, 1, wide));
  CHECK_FALSE(agree(1.3, 1, wide));
  CHECK_FALSE(agree(NAN, 1, wide));
  CHECK_FALSE(agree(1, NAN, wide));
  CHECK_FALSE(agree(65504, INFINITY, wide));
  CHECK_FALSE(agree(-INFINITY, INFINITY, wide));
}

TEST_CASE("zeros of either sign come from the listed ops and from what is computed of them, and from nothing else") {
  for (const OpOfAnyZeroSign& row : ops_of_any_zero_sign()) CHECK(std::string(row.reason) != "");
  GraphBuilder b;
  const Node x = b.input(v1::F32, {4}), i = b.input(v1::I32, {4});
  const Node most = b.op(v1::MAX, {x, x}), after = b.op(v1::NEG, {most});
  const Node cleared = b.op(v1::ABS, {most}), compared = b.op(v1::LT, {most, x}), ints = b.op(v1::MAX, {i, i});
  const Node other = b.op(v1::MUL, {x, x});
  const std::vector<bool> any = nodes_of_any_zero_sign(b.graph());
  CHECK(any[most]);
  CHECK(any[after]);
  CHECK_FALSE(any[x]);
  CHECK_FALSE(any[other]);
  CHECK_FALSE(any[cleared]);
  CHECK_FALSE(any[compared]);
  CHECK_FALSE(any[ints]);
}

}  // namespace
}  // namespace hearth::conformance
