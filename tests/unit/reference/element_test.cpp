// The element semantics against hand-computed tables, one row a rule of compiler/ir/uop.h.
#include "compiler/codegen/reference/element.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compiler/codegen/reference/element_ops.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::Scalar;

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

std::int64_t ints(Op op, Scalar scalar, std::int64_t a, std::int64_t b) {
  const Element args[] = {Element::of_int(a), Element::of_int(b)};
  absl::StatusOr<Element> result = evaluate(op, scalar, scalar, args);
  REQUIRE(result.ok());
  return result->i;
}

double floats(Op op, Scalar scalar, double a, double b = 0) {
  const Element args[] = {Element::of_float(a), Element::of_float(b)};
  absl::StatusOr<Element> result = evaluate(op, scalar, scalar, args);
  REQUIRE(result.ok());
  return result->f;
}

bool compares(Op op, Scalar scalar, Element a, Element b) {
  const Element args[] = {a, b};
  return evaluate(op, Scalar::Bool, scalar, args).value().i != 0;
}

Element cast(Scalar to, Scalar from, Element x) { return evaluate(Op::Cast, to, from, std::span(&x, 1)).value(); }
std::int64_t to_int(Scalar to, Scalar from, double x) { return cast(to, from, Element::of_float(x)).i; }

TEST_CASE("narrow floats round to nearest even, with subnormals and overflow") {
  struct Row {
    Scalar scalar;
    double value, rounded;
    std::uint64_t bits;
  };
  const double inf = INFINITY;
  const Row rows[] = {
      {Scalar::F16, 1.0, 1.0, 0x3c00},          {Scalar::F16, -2.0, -2.0, 0xc000},
      {Scalar::F16, 65504.0, 65504.0, 0x7bff},  {Scalar::F16, 65519.99, 65504.0, 0x7bff},
      {Scalar::F16, 65520.0, inf, 0x7c00},      {Scalar::F16, 0x1p-24, 0x1p-24, 0x0001},
      {Scalar::F16, 0x1p-25, 0.0, 0x0000},      {Scalar::F16, 0x1.8p-24, 0x1p-23, 0x0002},
      {Scalar::F16, 2049.0, 2048.0, 0x6800},    {Scalar::F16, 2051.0, 2052.0, 0x6802},
      {Scalar::F16, 0.1, 0x1.998p-4, 0x2e66},   {Scalar::BF16, 1.0, 1.0, 0x3f80},
      {Scalar::BF16, 257.0, 256.0, 0x4380},     {Scalar::BF16, 259.0, 260.0, 0x4382},
      {Scalar::BF16, 3.4e38, inf, 0x7f80},      {Scalar::BF16, -0.0, -0.0, 0x8000},
      {Scalar::F8E4M3, 448.0, 448.0, 0x7e},     {Scalar::F8E4M3, 464.0, 448.0, 0x7e},
      {Scalar::F8E4M3, 0x1p-9, 0x1p-9, 0x01},   {Scalar::F8E4M3, -1.0, -1.0, 0xb8},
      {Scalar::F8E5M2, 57344.0, 57344.0, 0x7b}, {Scalar::F8E5M2, 61440.0, inf, 0x7c},
      {Scalar::F8E5M2, 0x1p-16, 0x1p-16, 0x01}, {Scalar::F32, 16777217.0, 16777216.0, 0x4b800000},
  };
  for (const Row& row : rows) {
    CAPTURE(ir::to_string(row.scalar), row.value);
    const double rounded = round_float(row.scalar, row.value);
    CHECK(std::bit_cast<std::uint64_t>(rounded) == std::bit_cast<std::uint64_t>(row.rounded));
    CHECK(encode(row.scalar, Element::of_float(rounded)) == row.bits);
    CHECK(decode(row.scalar, row.bits).f == row.rounded);
  }
  CHECK(std::isnan(round_float(Scalar::F8E4M3, 480.0)));
  CHECK(encode(Scalar::F8E4M3, Element::of_float(NAN)) == 0x7f);
  CHECK(encode(Scalar::F16, Element::of_float(NAN)) == 0x7e00);
}

TEST_CASE("every bit pattern of the narrow floats decodes and encodes to itself") {
  const auto check = [](Scalar scalar, std::uint64_t count) {
    std::vector<std::uint64_t> wrong;
    std::uint64_t num_nans = 0;
    for (std::uint64_t bits = 0; bits < count; ++bits) {
      const double value = decode(scalar, bits).f;
      num_nans += std::isnan(value) ? 1 : 0;
      if (std::isnan(value)) continue;
      if (encode(scalar, Element::of_float(value)) != bits || round_float(scalar, value) != value)
        wrong.push_back(bits);
    }
    INFO(ir::to_string(scalar));
    CHECK(wrong == std::vector<std::uint64_t>{});
    return num_nans;
  };
  // NaNs: both signs of every mantissa but zero, in f8e4m3 of all ones alone.
  CHECK(check(Scalar::F16, 65536) == 2 * 1023);
  CHECK(check(Scalar::BF16, 65536) == 2 * 127);
  CHECK(check(Scalar::F8E4M3, 256) == 2);
  CHECK(check(Scalar::F8E5M2, 256) == 2 * 3);
}

TEST_CASE("integer arithmetic wraps") {
  CHECK(ints(Op::Add, Scalar::I8, 127, 1) == -128);
  CHECK(ints(Op::Sub, Scalar::U8, 0, 1) == 255);
  CHECK(ints(Op::Mul, Scalar::I16, 300, 300) == static_cast<std::int16_t>(90000));
  CHECK(ints(Op::Mul, Scalar::I32, 65536, 65536) == 0);
  CHECK(ints(Op::Add, Scalar::I64, kMax64, 1) == kMin64);
  CHECK(ints(Op::Mul, Scalar::I64, kMin64, -1) == kMin64);
  CHECK(ints(Op::Mul, Scalar::U64, -1, -1) == 1);
  CHECK(ints(Op::Sub, Scalar::U32, 1, 2) == 4294967295);
  CHECK(ints(Op::Neg, Scalar::I8, -128, 0) == -128);
  CHECK(ints(Op::Abs, Scalar::I32, -2147483648LL, 0) == -2147483648LL);
  CHECK(ints(Op::Not, Scalar::U8, 5, 0) == 250);
  CHECK(ints(Op::Not, Scalar::Bool, 1, 0) == 0);
  CHECK(ints(Op::Pow, Scalar::I8, 2, 7) == -128);
  CHECK(ints(Op::Pow, Scalar::I32, -3, 3) == -27);
  CHECK(ints(Op::Pow, Scalar::U64, 3, 40) == static_cast<std::int64_t>(12157665459056928801ULL));
}

TEST_CASE("division and modulo") {
  struct Row {
    std::int64_t a, b, trunc_div, trunc_mod, floor_div, floor_mod;
  };
  const Row rows[] = {{7, 2, 3, 1, 3, 1},    {-7, 2, -3, -1, -4, 1}, {7, -2, -3, 1, -4, -1}, {-7, -2, 3, -1, 3, -1},
                      {6, -3, -2, 0, -2, 0}, {5, 0, 0, 0, 0, 0},     {0, -5, 0, 0, 0, 0},    {-1, 100, 0, -1, -1, 99}};
  for (const Row& row : rows) {
    CAPTURE(row.a, row.b);
    for (const Scalar scalar : {Scalar::I8, Scalar::I32, Scalar::I64, Scalar::Index}) {
      CHECK(ints(Op::TruncDiv, scalar, row.a, row.b) == row.trunc_div);
      CHECK(ints(Op::TruncMod, scalar, row.a, row.b) == row.trunc_mod);
      CHECK(ints(Op::FloorDiv, scalar, row.a, row.b) == row.floor_div);
      CHECK(ints(Op::FloorMod, scalar, row.a, row.b) == row.floor_mod);
    }
  }
  CHECK(ints(Op::TruncDiv, Scalar::I32, -2147483648LL, -1) == -2147483648LL);
  CHECK(ints(Op::FloorDiv, Scalar::I64, kMin64, -1) == kMin64);
  CHECK(ints(Op::FloorMod, Scalar::I64, kMin64, -1) == 0);
  CHECK(ints(Op::TruncDiv, Scalar::U64, -1, 2) == kMax64);
  CHECK(ints(Op::FloorMod, Scalar::U64, -1, 10) == 5);
}

TEST_CASE("shifts") {
  CHECK(ints(Op::Shl, Scalar::I8, 1, 7) == -128);
  CHECK(ints(Op::Shl, Scalar::I8, 1, 8) == 0);
  CHECK(ints(Op::Shl, Scalar::I32, 1, -1) == 0);
  CHECK(ints(Op::Shr, Scalar::I32, -8, 1) == -4);
  CHECK(ints(Op::Shr, Scalar::I32, -8, 32) == -1);
  CHECK(ints(Op::Shr, Scalar::I32, -8, -1) == -1);
  CHECK(ints(Op::Shr, Scalar::I32, 8, 99) == 0);
  CHECK(ints(Op::Shr, Scalar::U32, 0x80000000LL, 31) == 1);
  CHECK(ints(Op::Shr, Scalar::U64, -1, 64) == 0);
  CHECK(ints(Op::Shr, Scalar::U64, -1, 63) == 1);
  CHECK(ints(Op::Shl, Scalar::U64, 1, -1) == 0);
}

TEST_CASE("comparisons, max and min") {
  CHECK(compares(Op::Lt, Scalar::I64, Element::of_int(-1), Element::of_int(1)));
  CHECK_FALSE(compares(Op::Lt, Scalar::U64, Element::of_int(-1), Element::of_int(1)));
  for (const Op op : {Op::Lt, Op::Le, Op::Eq}) {
    CHECK_FALSE(compares(op, Scalar::F32, Element::of_float(NAN), Element::of_float(NAN)));
  }
  CHECK(compares(Op::Ne, Scalar::F32, Element::of_float(NAN), Element::of_float(NAN)));
  CHECK(compares(Op::Eq, Scalar::F32, Element::of_float(-0.0), Element::of_float(0.0)));
  CHECK(ints(Op::Max, Scalar::U64, -1, 1) == -1);
  CHECK(ints(Op::Min, Scalar::I64, -1, 1) == -1);
  CHECK(std::isnan(floats(Op::Max, Scalar::F32, 1, NAN)));
  CHECK(std::isnan(floats(Op::Min, Scalar::F32, NAN, 1)));
  CHECK(floats(Op::Max, Scalar::F64, -INFINITY, 3) == 3);
}

TEST_CASE("float ops round once to their dtype") {
  CHECK(floats(Op::Add, Scalar::F16, 2048, 1) == 2048);
  CHECK(floats(Op::Add, Scalar::F32, 16777216, 1) == 16777216);
  CHECK(floats(Op::Add, Scalar::F64, 16777216, 1) == 16777217);
  CHECK(floats(Op::Mul, Scalar::F16, 256, 256) == INFINITY);
  CHECK(floats(Op::Div, Scalar::BF16, 1, 3) == 0x1.56p-2);
  CHECK(floats(Op::Round, Scalar::F32, 2.5) == 2);
  CHECK(floats(Op::Round, Scalar::F32, -3.5) == -4);
  CHECK(floats(Op::Trunc, Scalar::F32, -3.5) == -3);
  CHECK(floats(Op::Floor, Scalar::F32, -3.5) == -4);
  CHECK(floats(Op::Ceil, Scalar::F32, -3.5) == -3);
  CHECK(floats(Op::Sigmoid, Scalar::F32, 0) == 0.5);
  CHECK(floats(Op::Sigmoid, Scalar::F32, -200) == Approx(0).margin(1e-30));
  CHECK(floats(Op::Erf, Scalar::F64, 0.5) == Approx(0.5204998778130465));
  CHECK(floats(Op::Recip, Scalar::F32, -0.0) == -INFINITY);
  CHECK(std::isnan(floats(Op::Log, Scalar::F32, -1)));
  const Element fma[] = {Element::of_float(1 + 0x1p-12), Element::of_float(1 + 0x1p-12), Element::of_float(-1)};
  CHECK(evaluate(Op::Fma, Scalar::F32, Scalar::F32, fma)->f == 0x1p-11 + 0x1p-24);
}

TEST_CASE("casts") {
  CHECK(to_int(Scalar::I8, Scalar::F32, 300) == 127);
  CHECK(to_int(Scalar::I8, Scalar::F32, -300) == -128);
  CHECK(to_int(Scalar::I8, Scalar::F32, -128.9) == -128);
  CHECK(to_int(Scalar::U8, Scalar::F32, -0.9) == 0);
  CHECK(to_int(Scalar::U8, Scalar::F32, 255.9) == 255);
  CHECK(to_int(Scalar::U8, Scalar::F32, 256) == 255);
  CHECK(to_int(Scalar::I32, Scalar::F32, 3e9) == 2147483647);
  CHECK(to_int(Scalar::I64, Scalar::F64, 1e30) == kMax64);
  CHECK(to_int(Scalar::I64, Scalar::F64, -INFINITY) == kMin64);
  CHECK(to_int(Scalar::U64, Scalar::F64, INFINITY) == -1);
  CHECK(to_int(Scalar::U64, Scalar::F64, 0x1p63) == kMin64);
  CHECK(to_int(Scalar::U64, Scalar::F64, -5) == 0);
  CHECK(to_int(Scalar::I32, Scalar::F32, NAN) == 0);
  CHECK(to_int(Scalar::I32, Scalar::F32, -1.9) == -1);
  CHECK(to_int(Scalar::Bool, Scalar::F32, 0.1) == 1);
  CHECK(to_int(Scalar::Bool, Scalar::F32, NAN) == 1);
  CHECK(to_int(Scalar::Bool, Scalar::F32, -0.0) == 0);
  CHECK(cast(Scalar::I8, Scalar::I32, Element::of_int(200)).i == -56);
  CHECK(cast(Scalar::Bool, Scalar::I32, Element::of_int(256)).i == 1);
  CHECK(cast(Scalar::U64, Scalar::I8, Element::of_int(-1)).i == -1);
  CHECK(cast(Scalar::I64, Scalar::U32, Element::of_int(4294967295)).i == 4294967295);
  CHECK(cast(Scalar::F32, Scalar::U64, Element::of_int(-1)).f == 0x1p64);
  CHECK(cast(Scalar::F32, Scalar::I64, Element::of_int(16777217)).f == 16777216);
  CHECK(cast(Scalar::F32, Scalar::I64, Element::of_int((1LL << 54) + (1LL << 30) + 1)).f == 0x1p54 + 0x1p31);
  CHECK(cast(Scalar::F16, Scalar::F64, Element::of_float(1 + 0x1p-11 + 0x1p-40)).f == 1 + 0x1p-10);
  CHECK(cast(Scalar::F32, Scalar::Bool, Element::of_int(1)).f == 1);
}

TEST_CASE("bitcast keeps the bits") {
  const Element one = Element::of_float(1);
  CHECK(evaluate(Op::Bitcast, Scalar::I32, Scalar::F32, std::span(&one, 1))->i == 0x3f800000);
  const Element bits = Element::of_int(-1);
  CHECK(evaluate(Op::Bitcast, Scalar::U16, Scalar::I16, std::span(&bits, 1))->i == 65535);
  const Element half = Element::of_int(0x3800);
  CHECK(evaluate(Op::Bitcast, Scalar::F16, Scalar::U16, std::span(&half, 1))->f == 0.5);
}

TEST_CASE("reduction identities leave every value alone") {
  const Scalar scalars[] = {Scalar::Bool, Scalar::I8,  Scalar::I16, Scalar::I32,  Scalar::I64, Scalar::U8, Scalar::U16,
                            Scalar::U32,  Scalar::U64, Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64};
  for (const Scalar scalar : scalars) {
    for (const ir::ReduceKind kind :
         {ir::ReduceKind::Sum, ir::ReduceKind::Prod, ir::ReduceKind::Max, ir::ReduceKind::Min}) {
      const Element identity = reduce_identity(kind, scalar);
      for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, kMin64, kMax64}) {
        const Element value = normalize(scalar, {v, static_cast<double>(v)});
        const Element result = reduce_step(kind, scalar, identity, value);
        CAPTURE(ir::to_string(scalar), static_cast<int>(kind), v);
        CHECK(encode(scalar, result) == encode(scalar, value));
      }
    }
  }
}

TEST_CASE("what is not defined is refused, index overflow included") {
  const Element args[] = {Element::of_int(kMax64), Element::of_int(1)};
  CHECK(evaluate(Op::Sqrt, Scalar::I32, Scalar::I32, args).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(evaluate(Op::And, Scalar::F32, Scalar::F32, args).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(evaluate(Op::Add, Scalar::Index, Scalar::Index, args).status().code() == absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace hearth::codegen::reference
