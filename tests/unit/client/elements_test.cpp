#include "client/tensor/elements.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/fp8_judge.h"

using namespace hearth;
using namespace hearth::client;

namespace {
std::uint32_t bits(double value, DType dtype) {
  const std::string bytes = encode_float(value, dtype);
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return out;
}
}  // namespace

TEST_CASE("narrow floats round to nearest even and keep their special values") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(bits(1.0, DType::kF16) == 0x3c00);
  CHECK(bits(-2.0, DType::kF16) == 0xc000);
  CHECK(bits(65504, DType::kF16) == 0x7bff);
  CHECK(bits(65520, DType::kF16) == 0x7c00);
  CHECK(bits(std::ldexp(1, -24), DType::kF16) == 0x0001);
  CHECK(bits(std::ldexp(1, -25), DType::kF16) == 0x0000);
  CHECK(bits(1 + std::ldexp(1, -11), DType::kF16) == 0x3c00);
  CHECK(bits(1 + 3 * std::ldexp(1, -11), DType::kF16) == 0x3c02);
  CHECK(bits(-inf, DType::kF16) == 0xfc00);
  CHECK(bits(1.0, DType::kBF16) == 0x3f80);
  CHECK(bits(448, DType::kF8E4M3) == 0x7e);
  CHECK(bits(inf, DType::kF8E4M3) == 0x7f);
  CHECK(bits(57344, DType::kF8E5M2) == 0x7b);
  CHECK(bits(inf, DType::kF8E5M2) == 0x7c);
}

TEST_CASE("every narrow float survives decoding and encoding") {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const std::uint32_t count = 1U << (8 * dtype_bytes(dtype));
    std::vector<std::uint32_t> wrong;
    for (std::uint32_t pattern = 0; pattern < count; ++pattern) {
      const std::string bytes = {static_cast<char>(pattern & 255), static_cast<char>(pattern >> 8)};
      const double value = decode_float(bytes, dtype);
      if (std::isnan(value)) continue;
      if (bits(value, dtype) != pattern) wrong.push_back(pattern);
    }
    INFO(dtype_name(dtype));
    CHECK(wrong == std::vector<std::uint32_t>{});
  }
}

TEST_CASE("fp8 elements are those of the OCP specification, rounding to the nearest") {
  for (const auto& [dtype, judge] : {std::pair(DType::kF8E4M3, test::kE4M3), std::pair(DType::kF8E5M2, test::kE5M2)}) {
    for (int pattern = 0; pattern < 256; ++pattern) {
      const double want = judge.value(static_cast<std::uint8_t>(pattern));
      const double got = decode_float(std::string(1, static_cast<char>(pattern)), dtype);
      INFO(dtype_name(dtype) << " " << pattern);
      CHECK(((std::isnan(got) && std::isnan(want)) || (got == want && std::signbit(got) == std::signbit(want))));
    }
    for (const float x : test::fp8_boundaries(judge)) {
      INFO(dtype_name(dtype) << " " << x);
      CHECK(judge.same(static_cast<std::uint8_t>(bits(x, dtype)), judge.nearest(x)));
    }
  }
}

TEST_CASE("integers know their range") {
  CHECK(fits(255, DType::kU8));
  CHECK_FALSE(fits(256, DType::kU8));
  CHECK_FALSE(fits(-1, DType::kU64));
  CHECK(fits(-128, DType::kI8));
  CHECK_FALSE(fits(2, DType::kBool));
  CHECK(decode_integer(encode_integer(-5, DType::kI16), DType::kI16) == -5);
}
