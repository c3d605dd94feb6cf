// fp8 in the reference interpreter and in the compiler's constants, against the OCP definition: every bit pattern,
// every f16 value, every boundary of rounding.
#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/codegen/reference/element.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/rounding.h"
#include "compiler/ir/text.h"
#include "tests/unit/fp8_judge.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::Scalar;
using test::Fp8Judge;

struct Format {
  Scalar scalar;
  Fp8Judge judge;
};
const Format kFormats[] = {{Scalar::F8E4M3, test::kE4M3}, {Scalar::F8E5M2, test::kE5M2}};

std::uint8_t cast_bits(Scalar to, Scalar from, Element x) {
  return static_cast<std::uint8_t>(encode(to, evaluate(Op::Cast, to, from, std::span(&x, 1)).value()));
}

TEST_CASE("every fp8 bit pattern has the value of the OCP specification") {
  CHECK(test::kE4M3.value(0x7e) == 448);  // table 1 of the specification
  CHECK(test::kE4M3.value(0x08) == 0x1p-6);
  CHECK(test::kE4M3.value(0x01) == 0x1p-9);
  CHECK(test::kE5M2.value(0x7b) == 57344);
  CHECK(test::kE5M2.value(0x04) == 0x1p-14);
  CHECK(test::kE5M2.value(0x01) == 0x1p-16);
  for (const auto& [scalar, judge] : kFormats) {
    for (int pattern = 0; pattern < 256; ++pattern) {
      const auto bits = static_cast<std::uint8_t>(pattern);
      const double want = judge.value(bits), got = decode(scalar, bits).f, constant = ir::value_of_bits(scalar, bits);
      CAPTURE(ir::to_string(scalar), pattern, want, got, constant);
      if (std::isnan(want)) {
        CHECK((std::isnan(got) && std::isnan(constant)));
        continue;
      }
      CHECK((got == want && constant == want));
      CHECK((std::signbit(got) == std::signbit(want) && std::signbit(constant) == std::signbit(want)));
      CHECK(encode(scalar, Element::of_float(want)) == bits);
    }
  }
}

TEST_CASE("casts to fp8 give the nearest value, of f16, f32 and f64, and so do constants") {
  for (const auto& [scalar, judge] : kFormats) {
    const auto check = [&, scalar = scalar, judge = judge](Scalar from, double x) {
      const std::uint8_t want = judge.nearest(x);
      const std::uint8_t got = cast_bits(scalar, from, Element::of_float(x));
      const auto constant = static_cast<std::uint8_t>(encode(scalar, Element::of_float(ir::round_to(scalar, x))));
      if (judge.same(got, want) && judge.same(constant, want)) return true;
      UNSCOPED_INFO(ir::to_string(from) << " " << x << " to " << ir::to_string(scalar) << ": " << int{got}
                                        << ", constant " << int{constant} << ", expected " << int{want});
      return false;
    };
    bool right = true;
    for (int bits = 0; bits < 65536; ++bits) {
      right &= check(Scalar::F16, test::f16_value(static_cast<std::uint16_t>(bits)));
    }
    for (const float x : test::fp8_boundaries(judge)) {
      right &= check(Scalar::F32, x);
      right &= check(Scalar::F64, x);
      right &= check(Scalar::F64, std::nextafter(static_cast<double>(x), INFINITY));
      right &= check(Scalar::F64, std::nextafter(static_cast<double>(x), -INFINITY));
    }
    CHECK(right);
  }
}

TEST_CASE("integers are rounded once to a narrow float") {
  for (const auto& [scalar, judge] : kFormats) {
    for (std::int64_t x = -70000; x <= 70000; ++x) {
      const auto want = judge.nearest(static_cast<double>(x));
      if (!judge.same(cast_bits(scalar, Scalar::I32, Element::of_int(x)), want)) FAIL(x);
    }
    CHECK(judge.same(cast_bits(scalar, Scalar::I64, Element::of_int(INT64_MIN)), judge.nearest(-0x1p63)));
    CHECK(judge.same(cast_bits(scalar, Scalar::U64, Element::of_int(-1)), judge.nearest(0x1p64)));
    CHECK(cast_bits(scalar, Scalar::Bool, Element::of_int(1)) == judge.nearest(1));
  }
  // 2^25 + 2^17 is the middle of two bf16 values: one more decides, unless f32 has dropped it.
  const Element above = Element::of_int((1 << 25) + (1 << 17) + 1);
  CHECK(evaluate(Op::Cast, Scalar::BF16, Scalar::I32, std::span(&above, 1))->f == 0x1p25 + 0x1p18);
  const Element far_above = Element::of_int((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1);
  CHECK(evaluate(Op::Cast, Scalar::BF16, Scalar::I64, std::span(&far_above, 1))->f == 0x1p62 + 0x1p55);
}

TEST_CASE("fp8 constants survive the text form") {
  for (const auto& [scalar, judge] : kFormats) {
    for (int pattern = 0; pattern < 256; ++pattern) {
      ir::Graph graph;
      const double value = ir::value_of_bits(scalar, static_cast<std::uint32_t>(pattern));
      const ir::UOpRef node = graph.unary(Op::Neg, graph.constant(ir::DType(scalar), value));
      CHECK(ir::parse(graph, ir::print(node)).value() == node);
    }
  }
}

TEST_CASE("the extremes of narrow floats") {
  CHECK(ir::greatest_finite(Scalar::F8E4M3) == 448);
  CHECK(ir::greatest_finite(Scalar::F8E5M2) == 57344);
  CHECK(ir::greatest_finite(Scalar::F16) == 65504);
  CHECK(ir::greatest_finite(Scalar::BF16) == 0x1.FEp127);
  CHECK(reduce_identity(ir::ReduceKind::Max, Scalar::F8E4M3).f == -448);
  CHECK(reduce_identity(ir::ReduceKind::Max, Scalar::F8E5M2).f == -INFINITY);
}

}  // namespace
}  // namespace hearth::codegen::reference
