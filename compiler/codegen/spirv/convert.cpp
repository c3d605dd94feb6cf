// Conversions of Arithmetic: casts, and narrow floats as bits in unsigned words.
#include <glslang/SPIRV/GLSL.std.450.h>

#include <algorithm>
#include <cmath>

#include "compiler/codegen/spirv/arithmetic.h"

namespace hearth::codegen::spirv {

using ir::Scalar;

spv::Id Arithmetic::cast(Scalar from, Scalar to, Id v) {
  if (from == to) return v;
  if (ir::is_narrow(from)) return cast(Scalar::F32, to, widen(from, v));
  if (ir::is_bool(from)) {
    const ir::ConstValue one = {ir::is_float(to), 1, 1.0}, zero = {ir::is_float(to), 0, 0.0};
    return choose(v, m_.constant(to, one), m_.constant(to, zero));
  }
  const Id type = m_.value_type(from);
  if (ir::is_bool(to)) {
    return ir::is_float(from) ? test(spv::OpFUnordNotEqual, v, m_.real(type, 0.0))
                              : test(spv::OpINotEqual, v, m_.integer(ir::bit_width(from), 0));
  }
  if (ir::is_float(from)) {
    if (ir::is_narrow(to)) return round_narrow(to, type, v);
    return ir::is_float(to) ? op(spv::OpFConvert, m_.value_type(to), v) : float_to_integer(type, to, v);
  }
  return ir::is_float(to) ? integer_to_float(from, to, v) : resize(from, ir::bit_width(to), v);
}

spv::Id Arithmetic::resize(Scalar from, int bits, Id v) {
  const int has = ir::bit_width(from);
  if (has == bits) return v;
  return ir::is_signed_int(from) && bits > has ? extend_sign(has, bits, v) : op(spv::OpUConvert, m_.word(bits), v);
}

// By shifts to 64 bits, not OpSConvert: lavapipe of Mesa 22.3 compares what that gives with any constant as if the
// constant were less (found by the positions of gathers and of transposed convolutions).
spv::Id Arithmetic::extend_sign(int has, int bits, Id v) {
  if (bits < 64) return op(spv::OpSConvert, m_.word(bits), v);
  const Id wide = op(spv::OpUConvert, m_.word(64), v), shift = u64(static_cast<std::uint64_t>(64 - has));
  return op(spv::OpShiftRightArithmetic, m_.word(64), op(spv::OpShiftLeftLogical, m_.word(64), wide, shift), shift);
}

// Truncates, saturates, NaN gives 0: SPIR-V defines no value that the integer cannot hold.
spv::Id Arithmetic::float_to_integer(Id type, Scalar to, Id v) {
  const int bits = ir::bit_width(to);
  const bool is_signed = ir::is_signed_int(to);
  const int wide_bits = std::max(bits, 32);
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first that is too great
  const double below = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;  // the least, exact in every float
  const Id is_high = test(spv::OpFOrdGreaterThanEqual, v, m_.real(type, above));
  const Id is_low = test(spv::OpFOrdLessThan, v, m_.real(type, below));
  const Id is_beyond = test(spv::OpLogicalOr, test(spv::OpLogicalOr, is_high, is_low), is_nan(v));
  const Id inside = choose(is_beyond, m_.real(type, 0.0), v);
  Id result = op(is_signed ? spv::OpConvertFToS : spv::OpConvertFToU, m_.word(wide_bits), inside);
  if (wide_bits > bits) result = op(spv::OpUConvert, m_.word(bits), result);
  const std::uint64_t most = is_signed ? (std::uint64_t{1} << (bits - 1)) - 1 : ~std::uint64_t{0};
  const std::uint64_t least = is_signed ? std::uint64_t{1} << (bits - 1) : 0;
  result = choose(is_high, m_.integer(bits, most), result);
  return choose(is_low, m_.integer(bits, least), result);
}

spv::Id Arithmetic::integer_to_float(Scalar from, Scalar to, Id v) {
  const bool is_signed = ir::is_signed_int(from);
  const int bits = ir::bit_width(from);
  if (ir::is_narrow(to)) {
    const bool is_exact = bits < 24;
    if (bits == 64) v = to_odd_53_bits(from, v);
    const Id wide = integer_to_float(from, is_exact ? Scalar::F32 : Scalar::F64, v);
    return round_narrow(to, is_exact ? m_.f32() : m_.f64(), wide);
  }
  if (bits < 32) v = resize(from, 32, v);
  return op(is_signed ? spv::OpConvertSToF : spv::OpConvertUToF, m_.value_type(to), v);
}

// An integer of 64 bits rounded to odd at 53, so that a later rounding of its f64 is the only one that counts.
spv::Id Arithmetic::to_odd_53_bits(Scalar from, Id v) {
  const Id i64 = m_.word(64);
  const Id is_negative = test(spv::OpSLessThan, v, u64(0));
  const Id magnitude = ir::is_signed_int(from) ? choose(is_negative, op(spv::OpSNegate, i64, v), v) : v;
  const Id low = op(spv::OpBitwiseAnd, i64, v, u64(0x7ff));
  const Id sticky = choose(test(spv::OpINotEqual, low, u64(0)), u64(0x800), u64(0));
  const Id odd = op(spv::OpBitwiseOr, i64, op(spv::OpBitwiseAnd, i64, v, u64(~std::uint64_t{0x7ff})), sticky);
  return choose(test(spv::OpULessThan, magnitude, u64(std::uint64_t{1} << 52)), v, odd);
}

spv::Id Arithmetic::widen(Scalar narrow, Id v) {
  const Id i32 = m_.word(32);
  const Id wide = op(spv::OpUConvert, i32, v);
  if (narrow == Scalar::BF16) return op(spv::OpBitcast, m_.f32(), op(spv::OpShiftLeftLogical, i32, wide, u32(16)));
  return bits_to_f32(wide, *ir::narrow_format(narrow));
}

// Shifts exponent and mantissa into place and rebiases the exponent. A subnormal gets an exponent for its hidden zero
// and loses it by a subtraction, so that no f32 subnormal takes part: a driver may flush those. `v`: the bits in 32.
// Source: Giesen, "Float->half variants" (public domain).
spv::Id Arithmetic::bits_to_f32(Id v, const ir::NarrowFormat& format) {
  const int bits = format.exponent_bits + format.mantissa_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
  const Id i32 = m_.word(32), f32 = m_.f32();
  const Id magnitude = op(spv::OpBitwiseAnd, i32, v, u32((1u << bits) - 1));
  const Id sign = op(spv::OpShiftLeftLogical, i32, op(spv::OpBitwiseAnd, i32, v, u32(1u << bits)),
                     u32(static_cast<unsigned>(31 - bits)));
  const Id placed = op(spv::OpShiftLeftLogical, i32, magnitude, u32(static_cast<unsigned>(23 - format.mantissa_bits)));
  const Id normal = op(spv::OpIAdd, i32, placed, u32(static_cast<unsigned>(127 - bias) << 23));
  const Id hidden = u32(static_cast<unsigned>(128 - bias) << 23);
  const Id difference = op(spv::OpFSub, f32, op(spv::OpBitcast, f32, op(spv::OpIAdd, i32, placed, hidden)),
                           op(spv::OpBitcast, f32, hidden));
  const Id is_subnormal = test(spv::OpULessThan, magnitude, u32(1u << format.mantissa_bits));
  const Id finite = choose(is_subnormal, op(spv::OpBitcast, i32, difference), normal);
  const unsigned special =
      format.has_infinity ? ((1u << format.exponent_bits) - 1) << format.mantissa_bits : (1u << bits) - 1;
  const Id is_special = test(spv::OpUGreaterThanEqual, magnitude, u32(special));
  const Id result = choose(is_special, op(spv::OpBitwiseOr, i32, placed, u32(0x7f800000u)), finite);
  return op(spv::OpBitcast, f32, op(spv::OpBitwiseOr, i32, result, sign));
}

spv::Id Arithmetic::round_narrow(Scalar narrow, Id type, Id v) {
  if (type != m_.f32()) v = f64_to_odd_f32(v);
  const Id i32 = m_.word(32);
  if (narrow != Scalar::BF16)
    return op(spv::OpUConvert, m_.word(ir::bit_width(narrow)), f32_to_bits(v, *ir::narrow_format(narrow)));
  const Id bits = op(spv::OpBitcast, i32, v);
  const Id high = op(spv::OpShiftRightLogical, i32, bits, u32(16));
  const Id bias = op(spv::OpIAdd, i32, op(spv::OpBitwiseAnd, i32, high, u32(1)), u32(0x7fff));
  const Id rounded = op(spv::OpShiftRightLogical, i32, op(spv::OpIAdd, i32, bits, bias), u32(16));
  const Id quiet = op(spv::OpBitwiseOr, i32, high, u32(0x40));
  return op(spv::OpUConvert, m_.word(16), choose(is_nan(v), quiet, rounded));
}

// f32 -> a small float's bits in 32, round to nearest even; overflow gives infinity, or NaN without one.
// Source: Giesen, "Float->half variants" (public domain).
spv::Id Arithmetic::f32_to_bits(Id v, const ir::NarrowFormat& format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto shift = static_cast<unsigned>(23 - format.mantissa_bits);
  const Id i32 = m_.word(32), f32 = m_.f32();
  const Id bits = op(spv::OpBitcast, i32, v);
  const Id magnitude = op(spv::OpBitwiseAnd, i32, bits, u32(0x7fffffffu));
  const Id sign = op(spv::OpShiftLeftLogical, i32, op(spv::OpShiftRightLogical, i32, bits, u32(31)),
                     u32(static_cast<unsigned>(format.exponent_bits + format.mantissa_bits)));
  const Id odd = op(spv::OpBitwiseAnd, i32, op(spv::OpShiftRightLogical, i32, magnitude, u32(shift)), u32(1));
  const unsigned rebias = static_cast<unsigned>(127 - bias) << 23;
  const Id rounding = op(spv::OpIAdd, i32, odd, u32(((1u << (shift - 1)) - 1u) - rebias));
  const Id normal = op(spv::OpShiftRightLogical, i32, op(spv::OpIAdd, i32, magnitude, rounding), u32(shift));

  // An addition whose unit in the last place is the subnormals' spacing rounds them.
  const Id magic = u32((static_cast<unsigned>(127 - bias) + shift + 1) << 23);
  const Id aligned = op(spv::OpFAdd, f32, op(spv::OpBitcast, f32, magnitude), op(spv::OpBitcast, f32, magic));
  const Id subnormal = op(spv::OpISub, i32, op(spv::OpBitcast, i32, aligned), magic);
  const Id is_subnormal = test(spv::OpULessThan, magnitude, u32(static_cast<unsigned>(127 - bias + 1) << 23));

  const unsigned infinity = format.has_infinity ? ((1u << format.exponent_bits) - 1) << format.mantissa_bits
                                                : (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  const unsigned nan = format.has_infinity ? infinity | 1u << (format.mantissa_bits - 1) : infinity;
  const Id capped = choose(test(spv::OpULessThan, normal, u32(infinity)), normal, u32(infinity));
  const Id finite = choose(is_subnormal, subnormal, capped);
  return op(spv::OpBitwiseOr, i32, choose(is_nan(v), u32(nan), finite), sign);
}

// Rounds to odd: a later rounding to fewer bits then equals one rounding of the f64 (Boldo and Melquiond, 2008).
spv::Id Arithmetic::f64_to_odd_f32(Id v) {
  const Id i32 = m_.word(32), f32 = m_.f32(), f64 = m_.f64();
  const auto size = [&](Id x) { return b_.createBuiltinCall(f64, library_, GLSLstd450FAbs, {x}); };
  const Id nearest = op(spv::OpFConvert, f32, v);
  const Id back = op(spv::OpFConvert, f64, nearest);
  const Id is_inexact = test(spv::OpFOrdNotEqual, back, v);
  const Id is_too_big = test(spv::OpFOrdGreaterThan, size(back), size(v));
  const Id bits = op(spv::OpBitcast, i32, nearest);
  const Id truncated = op(spv::OpISub, i32, bits, choose(is_too_big, u32(1), u32(0)));
  return op(spv::OpBitcast, f32, op(spv::OpBitwiseOr, i32, truncated, choose(is_inexact, u32(1), u32(0))));
}

}  // namespace hearth::codegen::spirv
