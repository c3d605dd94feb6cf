// Constant folding: the corners of uop.h's semantics.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "compiler/rewrite/fold.h"

using namespace hearth;
using namespace hearth::rewrite;
using ir::ConstValue;
using ir::Op;
using ir::Scalar;

namespace {

std::optional<std::int64_t> ints(Op op, Scalar type, std::int64_t a, std::int64_t b) {
  const ConstValue args[] = {wrap_literal(type, a), wrap_literal(type, b)};
  const auto result = fold(op, ir::op_class(op) == ir::OpClass::Compare ? Scalar::Bool : type, type, args);
  return result ? std::optional(result->i) : std::nullopt;
}
double floats(Op op, Scalar type, double a, double b) {
  const ConstValue args[] = {{true, 0, a}, {true, 0, b}};
  return fold(op, type, type, args)->f;
}
std::optional<ConstValue> cast(Scalar to, Scalar from, ConstValue v) {
  return fold(Op::Cast, to, from, std::span(&v, 1));
}

}  // namespace

TEST_CASE("integer folding wraps, divides and shifts as written") {
  CHECK(ints(Op::Add, Scalar::I8, 127, 1) == -128);
  CHECK(ints(Op::Add, Scalar::U8, 255, 1) == 0);
  CHECK(ints(Op::Mul, Scalar::I64, INT64_MAX, 2) == -2);
  CHECK(ints(Op::TruncDiv, Scalar::I8, -128, -1) == -128);
  CHECK(ints(Op::TruncMod, Scalar::I8, -128, -1) == 0);
  CHECK(ints(Op::FloorDiv, Scalar::I64, INT64_MIN, -1) == INT64_MIN);
  CHECK(ints(Op::TruncDiv, Scalar::I32, -7, 2) == -3);
  CHECK(ints(Op::TruncMod, Scalar::I32, -7, 2) == -1);
  CHECK(ints(Op::FloorDiv, Scalar::I32, -7, 2) == -4);
  CHECK(ints(Op::FloorMod, Scalar::I32, -7, 2) == 1);
  CHECK(ints(Op::FloorMod, Scalar::I32, 7, -2) == -1);
  for (Op op : {Op::TruncDiv, Op::TruncMod, Op::FloorDiv, Op::FloorMod}) CHECK(ints(op, Scalar::I32, 5, 0) == 0);
  CHECK(ints(Op::Shl, Scalar::I8, 1, 7) == -128);
  CHECK(ints(Op::Shl, Scalar::I8, 1, 8) == 0);
  CHECK(ints(Op::Shl, Scalar::I8, 1, -1) == 0);
  CHECK(ints(Op::Shr, Scalar::I8, -2, 9) == -1);
  CHECK(ints(Op::Shr, Scalar::U8, 200, 9) == 0);
  CHECK(ints(Op::Lt, Scalar::U64, -1, 1) == 0);  // the greatest u64
  CHECK(ints(Op::Max, Scalar::U64, -1, 1) == -1);
  CHECK(ints(Op::Shr, Scalar::U64, -1, 63) == 1);
  CHECK_FALSE(ints(Op::Add, Scalar::Index, INT64_MAX, 1).has_value());
  CHECK_FALSE(ints(Op::Mul, Scalar::Index, INT64_MAX, 2).has_value());
  CHECK(ints(Op::Xor, Scalar::Bool, 1, 1) == 0);
}

TEST_CASE("float folding keeps NaN, -0 and one rounding") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(floats(Op::Max, Scalar::F32, nan, 1)));
  CHECK(std::isnan(floats(Op::Min, Scalar::F32, 1, nan)));
  CHECK(std::isnan(floats(Op::Mul, Scalar::F32, 0, inf)));
  CHECK(std::signbit(floats(Op::Mul, Scalar::F32, -1, 0.0)));
  CHECK(floats(Op::Add, Scalar::F32, 16777216.0, 1.0) == 16777216.0);
  CHECK(floats(Op::Add, Scalar::F64, 16777216.0, 1.0) == 16777217.0);
  CHECK(floats(Op::Mul, Scalar::F16, 300, 300) == inf);
  CHECK(floats(Op::Div, Scalar::F32, 1, 3) == static_cast<double>(1.0f / 3.0f));
  const ConstValue args[] = {{true, 0, 1.0}};
  CHECK_FALSE(fold(Op::Exp, Scalar::F32, Scalar::F32, args).has_value());
  CHECK(fold(Op::Neg, Scalar::F8E4M3, Scalar::F8E4M3, args)->f == -1.0);
  CHECK(floats(Op::Add, Scalar::F8E4M3, 16, 1) == 16);  // ties to even
  CHECK(floats(Op::Add, Scalar::F8E4M3, 18, 1) == 20);  // likewise
  CHECK(std::isnan(floats(Op::Mul, Scalar::F8E4M3, 448, 2)));
  CHECK(floats(Op::Mul, Scalar::F8E5M2, 57344, 2) == inf);
  CHECK(floats(Op::Div, Scalar::F8E5M2, 1, 3) == 0.3125);
}

TEST_CASE("casts of constants truncate, saturate and wrap") {
  auto f = [](double v) { return ConstValue{true, 0, v}; };
  auto i = [](std::int64_t v) { return ConstValue{false, v, 0}; };
  CHECK(cast(Scalar::I8, Scalar::F32, f(-1.9))->i == -1);
  CHECK(cast(Scalar::I8, Scalar::F32, f(1e9))->i == 127);
  CHECK(cast(Scalar::U8, Scalar::F32, f(-5))->i == 0);
  CHECK(cast(Scalar::I32, Scalar::F32, f(std::nan("")))->i == 0);
  CHECK(cast(Scalar::I64, Scalar::F64, f(9.3e18))->i == INT64_MAX);
  CHECK(cast(Scalar::I64, Scalar::F64, f(-9.3e18))->i == INT64_MIN);
  CHECK(cast(Scalar::U64, Scalar::F64, f(1.8446744073709550e19))->i ==
        static_cast<std::int64_t>(18446744073709549568ull));
  CHECK(cast(Scalar::Bool, Scalar::F32, f(0.5))->i == 1);
  CHECK(cast(Scalar::Bool, Scalar::I32, i(2))->i == 1);
  CHECK(cast(Scalar::I8, Scalar::I32, i(300))->i == 44);
  CHECK(cast(Scalar::F32, Scalar::I32, i(-3))->f == -3.0);
  CHECK(cast(Scalar::F8E4M3, Scalar::F32, f(464))->f == 448.0);
  CHECK(std::isnan(cast(Scalar::F8E4M3, Scalar::F32, f(465))->f));
  CHECK(std::isnan(cast(Scalar::F8E4M3, Scalar::F32, f(std::numeric_limits<double>::infinity()))->f));
  CHECK(cast(Scalar::F8E5M2, Scalar::F32, f(-61440))->f == -std::numeric_limits<double>::infinity());
  CHECK(cast(Scalar::F8E5M2, Scalar::F64, f(0x1.2000000000001p0))->f == 1.25);  // above the middle of 1 and 1.25
  CHECK(cast(Scalar::BF16, Scalar::F64, f(0x1.0100000000001p0))->f == 0x1.02p0);
  CHECK(cast(Scalar::F8E4M3, Scalar::I32, i(-17))->f == -16.0);
  CHECK(cast(Scalar::F32, Scalar::F8E4M3, f(0.3125))->f == 0.3125);
  CHECK_FALSE(cast(Scalar::F32, Scalar::I64, i((1 << 24) + 1)).has_value());
}
