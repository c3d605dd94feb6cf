// Floats of 16 and 8 bits, which C++20 has no types for: IEEE binary16, bfloat16 and the two of the OCP 8-bit
// specification. A value is its bits; it is made from a float or double by rounding to nearest, ties to even (beyond
// the range: infinity, or NaN for Float8E4M3, which has none), and becomes a float or double without loss. Values;
// constexpr, thread-safe, whatever the rounding mode.
//
//   std::vector<Float16> half = {Float16(0.5), Float16(-2)};
//   const auto value = static_cast<float>(half[0]);
#pragma once
#include <bit>
#include <cstdint>

#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth {

template <typename BitsType, int kExponentBits, int kMantissaBits, bool kHasInfinity>
class SmallFloat {
 public:
  using Bits = BitsType;

  SmallFloat() = default;
  constexpr explicit SmallFloat(double value) : bits_(encode(value)) {}
  static constexpr SmallFloat from_bits(Bits bits) {
    SmallFloat value;
    value.bits_ = bits;
    return value;
  }
  constexpr Bits bits() const { return bits_; }
  constexpr explicit operator double() const { return decode(bits_); }
  constexpr explicit operator float() const { return static_cast<float>(decode(bits_)); }

  // As numbers: 0 equals -0, and NaN equals nothing.
  friend constexpr bool operator==(SmallFloat a, SmallFloat b) { return decode(a.bits_) == decode(b.bits_); }

 private:
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint64_t kTopExponent = (1U << kExponentBits) - 1;
  static constexpr std::uint64_t kMantissaMask = (1U << kMantissaBits) - 1;
  static constexpr std::uint64_t kNan = kHasInfinity ? (kTopExponent << kMantissaBits) | (1U << (kMantissaBits - 1))
                                                     : (1U << (kExponentBits + kMantissaBits)) - 1;
  static constexpr std::uint64_t kOverflow = kHasInfinity ? kTopExponent << kMantissaBits : kNan;
  // The layout of a double.
  static constexpr int kWideMantissaBits = 52;
  static constexpr int kWideBias = 1023;
  static constexpr std::uint64_t kWideHidden = std::uint64_t{1} << kWideMantissaBits;

  static constexpr Bits encode(double value) {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = wide >> 63 << (kExponentBits + kMantissaBits);
    const int wide_exponent = static_cast<int>(wide >> kWideMantissaBits & 0x7ff);
    const std::uint64_t wide_mantissa = wide & (kWideHidden - 1);
    if (wide_exponent == 0x7ff) return static_cast<Bits>(sign | (wide_mantissa != 0 ? kNan : kOverflow));
    const int exponent = wide_exponent - kWideBias;
    const int below_normal = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
    const int shift = kWideMantissaBits - kMantissaBits + below_normal;
    if (shift > kWideMantissaBits + 1) return static_cast<Bits>(sign);  // less than half of the least
    const std::uint64_t significand = wide_mantissa | kWideHidden;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t units = significand >> shift;
    if (rest > half || (rest == half && units % 2 != 0)) ++units;
    // A carry out of the mantissa raises the exponent, as it should; a normal number's leading bit adds the last one.
    const std::uint64_t bits =
        below_normal > 0 ? units : units + (static_cast<std::uint64_t>(exponent + kBias - 1) << kMantissaBits);
    return static_cast<Bits>(sign | (bits >= kOverflow ? kOverflow : bits));
  }

  static constexpr double decode(Bits bits) {
    const std::uint64_t sign = static_cast<std::uint64_t>(bits) >> (kExponentBits + kMantissaBits) << 63;
    const std::uint64_t exponent = bits >> kMantissaBits & kTopExponent;
    const std::uint64_t mantissa = bits & kMantissaMask;
    if (kHasInfinity ? exponent == kTopExponent : (exponent == kTopExponent && mantissa == kMantissaMask)) {
      const std::uint64_t quiet = !kHasInfinity || mantissa != 0 ? kWideHidden / 2 : 0;
      return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << kWideMantissaBits | quiet);
    }
    // `mantissa` times a power of two that a double holds exactly, plus the hidden bit.
    const auto scale = [](int power) {
      return std::bit_cast<double>(static_cast<std::uint64_t>(power + kWideBias) << kWideMantissaBits);
    };
    const std::uint64_t units = exponent == 0 ? mantissa : mantissa | (kMantissaMask + 1);
    const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - kBias - kMantissaBits;
    const double magnitude = static_cast<double>(units) * scale(power);
    return std::bit_cast<double>(sign | std::bit_cast<std::uint64_t>(magnitude));
  }

  Bits bits_ = 0;
};

using Float16 = SmallFloat<std::uint16_t, 5, 10, true>;
using BFloat16 = SmallFloat<std::uint16_t, 8, 7, true>;
using Float8E4M3 = SmallFloat<std::uint8_t, 4, 3, false>;
using Float8E5M2 = SmallFloat<std::uint8_t, 5, 2, true>;

}  // namespace hearth
#pragma GCC visibility pop
