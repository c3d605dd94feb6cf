#include "tests/unit/codegen/element_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::Scalar;

namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};
Format format_of(Scalar s) {
  switch (s) {
    case Scalar::F16:
      return {5, 10, true};
    case Scalar::BF16:
      return {8, 7, true};
    case Scalar::F32:
      return {8, 23, true};
    case Scalar::F64:
      return {11, 52, true};
    case Scalar::F8E5M2:
      return {5, 2, true};
    default:
      return {4, 3, false};
  }
}

// Straight from the definition: scale to an integer number of units in the last place, round that to even.
std::uint64_t encode_float(Format f, long double v) {
  std::uint64_t sign = std::signbit(v) ? std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  std::uint64_t all = (std::uint64_t{1} << f.exponent_bits) - 1, infinity = all << f.mantissa_bits;
  std::uint64_t nan =
      f.has_infinity ? infinity | std::uint64_t{1} << (f.mantissa_bits - 1) : infinity | ((1u << f.mantissa_bits) - 1);
  if (std::isnan(v)) return nan;
  std::uint64_t overflow = sign | (f.has_infinity ? infinity : nan);
  if (std::isinf(v)) return overflow;
  if (v == 0) return sign;
  int bias = (1 << (f.exponent_bits - 1)) - 1, exponent = 0;
  std::frexp(v, &exponent);
  int lowest = std::max(exponent - 1, 1 - bias);  // exponent of the leading or the subnormals' first place
  long double units = std::nearbyint(std::ldexp(std::fabs(v), f.mantissa_bits - lowest));
  std::uint64_t magnitude = static_cast<std::uint64_t>(units);
  std::uint64_t field = static_cast<std::uint64_t>(lowest + bias - 1) << f.mantissa_bits;
  std::uint64_t bits = field + magnitude;  // a carry moves into the exponent by itself
  std::uint64_t limit = f.has_infinity ? infinity : nan;
  return bits >= limit ? overflow : sign | bits;
}

long double decode_float(Format f, std::uint64_t bits) {
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  int field = static_cast<int>((bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1));
  bool negative = (bits >> (f.exponent_bits + f.mantissa_bits)) & 1;
  int bias = (1 << (f.exponent_bits - 1)) - 1, all = (1 << f.exponent_bits) - 1;
  long double value;
  if (f.has_infinity && field == all)
    value = mantissa ? std::numeric_limits<long double>::quiet_NaN() : std::numeric_limits<long double>::infinity();
  else if (!f.has_infinity && field == all && mantissa == (1u << f.mantissa_bits) - 1)
    value = std::numeric_limits<long double>::quiet_NaN();
  else if (field == 0)
    value = std::ldexp(static_cast<long double>(mantissa), 1 - bias - f.mantissa_bits);
  else
    value = std::ldexp(static_cast<long double>(mantissa + (std::uint64_t{1} << f.mantissa_bits)),
                       field - bias - f.mantissa_bits);
  return negative ? -value : value;
}

__int128 floor_div(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Element apply_integer(Op op, Scalar s, __int128 a, __int128 b, __int128 c) {
  int width = ir::bit_width(s);
  bool is_signed = ir::is_signed_int(s), in_range = b >= 0 && b < width;
  switch (op) {
    case Op::Neg:
      return {-a};
    case Op::Not:
      return {ir::is_bool(s) ? !a : ~a};
    case Op::Abs:
      return {a < 0 ? -a : a};
    case Op::Add:
      return {a + b};
    case Op::Sub:
      return {a - b};
    case Op::Mul:
      return {static_cast<__int128>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b))};
    case Op::TruncDiv:
      return {b == 0 ? 0 : a / b};
    case Op::TruncMod:
      return {b == 0 ? 0 : a % b};
    case Op::FloorDiv:
      return {b == 0 ? 0 : floor_div(a, b)};
    case Op::FloorMod:
      return {b == 0 ? 0 : a - b * floor_div(a, b)};
    case Op::Max:
      return {std::max(a, b)};
    case Op::Min:
      return {std::min(a, b)};
    case Op::And:
      return {a & b};
    case Op::Or:
      return {a | b};
    case Op::Xor:
      return {a ^ b};
    case Op::Shl:
      return {in_range ? a << static_cast<int>(b) : 0};
    case Op::Shr:
      return {in_range ? a >> static_cast<int>(b) : (is_signed && a < 0 ? -1 : 0)};
    case Op::Lt:
      return {a < b};
    case Op::Le:
      return {a <= b};
    case Op::Eq:
      return {a == b};
    case Op::Ne:
      return {a != b};
    default:
      return {c};
  }
}

// In F itself: one rounding an op, as the machine does it.
template <class F>
Element apply_float(Op op, F a, F b, F c) {
  auto number = [](F v) { return Element{0, v}; };
  switch (op) {
    case Op::Neg:
      return number(-a);
    case Op::Abs:
      return number(std::fabs(a));
    case Op::Recip:
      return number(F(1) / a);
    case Op::Sqrt:
      return number(std::sqrt(a));
    case Op::Floor:
      return number(std::floor(a));
    case Op::Ceil:
      return number(std::ceil(a));
    case Op::Round:
      return number(std::nearbyint(a));
    case Op::Trunc:
      return number(std::trunc(a));
    case Op::Add:
      return number(a + b);
    case Op::Sub:
      return number(a - b);
    case Op::Mul:
      return number(a * b);
    case Op::Div:
      return number(a / b);
    case Op::Max:
      return number(std::isnan(a) || a > b ? a : b);
    case Op::Min:
      return number(std::isnan(a) || a < b ? a : b);
    case Op::Fma:
      return number(std::fma(a, b, c));
    case Op::Lt:
      return {a < b};
    case Op::Le:
      return {a <= b};
    case Op::Eq:
      return {a == b};
    default:
      return {a != b};
  }
}

}  // namespace

std::uint64_t encode(Scalar s, Element value) {
  if (ir::is_float(s)) return encode_float(format_of(s), value.f);
  if (ir::is_bool(s)) return value.i != 0;
  return static_cast<std::uint64_t>(value.i) & (~std::uint64_t{0} >> (64 - ir::bit_width(s)));
}

Element decode(Scalar s, std::uint64_t bits) {
  if (ir::is_float(s)) return {0, decode_float(format_of(s), bits)};
  if (!ir::is_signed_int(s)) return {static_cast<__int128>(bits)};
  int unused = 64 - ir::bit_width(s);
  return {static_cast<__int128>(static_cast<std::int64_t>(bits << unused) >> unused)};
}

std::vector<std::uint64_t> samples(Scalar s) {
  std::vector<std::uint64_t> out;
  if (ir::is_bool(s)) return {0, 1};
  if (ir::is_float(s)) {
    Format f = format_of(s);
    std::uint64_t sign = std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
    for (long double v : {0.0L,       1.0L,         0.5L,      1.5L,     2.5L,  0.3L,    3.0L,   100.7L,
                          127.5L,     40000.0L,     65519.0L,  65520.0L, 3e9L,  9.3e18L, 1e30L,  1e300L,
                          0x1.002p0L, 0x1.00201p0L, 0x1.01p0L, 0x1p-15L, 3e-8L, 1e-40L,  1e-44L, 1e-310L}) {
      out.push_back(encode_float(f, v));
    }
    std::uint64_t infinity = ((std::uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    for (std::uint64_t bits :
         {std::uint64_t{1}, (std::uint64_t{1} << f.mantissa_bits) - 1, std::uint64_t{1} << f.mantissa_bits,
          infinity - 1, infinity, infinity | std::uint64_t{1} << (f.mantissa_bits - 1)}) {
      out.push_back(bits);
    }
    for (std::size_t i = out.size(); i-- > 0;) out.push_back(out[i] | sign);
    return out;
  }
  int width = ir::bit_width(s);
  for (__int128 v : {0, 1, 2, 3, 7, 8, 10, 15, 16, 31, 33, 63, 64, 100})
    out.push_back(encode(s, {v})), out.push_back(encode(s, {-v}));
  std::uint64_t top = std::uint64_t{1} << (width - 1);
  for (std::uint64_t v : {top, top - 1, top + 1, top | top >> 1, (top - 1) & 0x5555555555555555u}) out.push_back(v);
  return out;
}

bool same(Scalar s, std::uint64_t a, std::uint64_t b, bool any_zero) {
  if (a == b) return true;
  if (!ir::is_float(s)) return false;
  long double x = decode(s, a).f, y = decode(s, b).f;
  return (std::isnan(x) && std::isnan(y)) || (any_zero && x == 0 && y == 0);
}

Element apply(Op op, Scalar s, Element a, Element b, Element c) {
  if (!ir::is_float(s)) return apply_integer(op, s, a.i, b.i, c.i);
  if (s == Scalar::F64)
    return apply_float<double>(op, static_cast<double>(a.f), static_cast<double>(b.f), static_cast<double>(c.f));
  return apply_float<float>(op, static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f));
}

Element convert(Scalar from, Scalar to, Element v) {
  if (ir::is_bool(to)) return {ir::is_float(from) ? v.f != 0 : v.i != 0};
  if (ir::is_float(to)) return {0, ir::is_float(from) ? v.f : static_cast<long double>(v.i)};
  if (!ir::is_float(from)) return {v.i};
  if (std::isnan(v.f)) return {0};
  int width = ir::bit_width(to);
  bool is_signed = ir::is_signed_int(to);
  long double low = is_signed ? -std::ldexp(1.0L, width - 1) : 0,
              high = std::ldexp(1.0L, is_signed ? width - 1 : width);
  if (v.f >= high) return {(static_cast<__int128>(1) << (is_signed ? width - 1 : width)) - 1};
  if (v.f <= low) return {static_cast<__int128>(low)};
  return {static_cast<__int128>(v.f)};
}

Elements::Elements(Scalar scalar, std::size_t count)
    : width_(static_cast<std::size_t>(ir::byte_size(scalar))), bytes_(count * width_, 0xee) {}
std::uint64_t Elements::bits(std::size_t i) const {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + i * width_, width_);
  return value;
}
void Elements::set(std::size_t i, std::uint64_t bits) { std::memcpy(bytes_.data() + i * width_, &bits, width_); }

}  // namespace hearth::codegen
