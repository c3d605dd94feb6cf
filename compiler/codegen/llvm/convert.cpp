// Conversions of Arithmetic: casts, narrow floats as bits, and the expansions of rounding and fma for targets that
// have no instruction for them.
#include "compiler/codegen/llvm/arithmetic.h"
#include "compiler/ir/rounding.h"
#include "llvm/IR/Intrinsics.h"

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::Scalar;

llvm::Value* Arithmetic::cast(DType from, DType to, Value* v) {
  if (from.scalar == to.scalar) return v;
  Type* type = value_type(to);
  if (ir::is_narrow(from)) return cast(DType(Scalar::F32, from.lanes), to, widen(from, v));
  if (ir::is_bool(to)) {
    Value* zero = llvm::Constant::getNullValue(v->getType());
    return ir::is_float(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
  }
  if (ir::is_float(from)) {
    if (ir::is_float(to)) return ir::is_narrow(to) ? round_narrow(to, v) : b_.CreateFPCast(v, type);
    auto id = ir::is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, v->getType()}, {v});
  }
  if (ir::is_float(to)) return int_to_float(from, to, v);
  return ir::is_signed_int(from) ? b_.CreateSExtOrTrunc(v, type) : b_.CreateZExtOrTrunc(v, type);
}

llvm::Value* Arithmetic::int_to_float(DType from, DType to, Value* v) {
  bool is_signed = ir::is_signed_int(from);
  int width = ir::bit_width(from);
  if (!ir::is_narrow(to)) return is_signed ? b_.CreateSIToFP(v, value_type(to)) : b_.CreateUIToFP(v, value_type(to));
  DType exact(width < 24 ? Scalar::F32 : Scalar::F64, to.lanes);
  if (width == 64) {
    // Round to odd at 53 bits, so that the rounding to `to` is the only one that counts.
    Type* type = v->getType();
    Value* magnitude = is_signed ? b_.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {v, b_.getFalse()}) : v;
    Value* low = b_.CreateAnd(v, integer(type, 0x7ff));
    Value* sticky = b_.CreateSelect(b_.CreateICmpNE(low, integer(type, 0)), integer(type, 0x800), integer(type, 0));
    Value* odd = b_.CreateOr(b_.CreateAnd(v, integer(type, ~std::uint64_t{0x7ff})), sticky);
    v = b_.CreateSelect(b_.CreateICmpULT(magnitude, integer(type, std::uint64_t{1} << 52)), v, odd);
  }
  return round_narrow(to, int_to_float(from, exact, v));
}

llvm::Value* Arithmetic::widen(DType narrow, Value* v) {
  Type* i32 = shaped(b_.getInt32Ty(), v->getType());
  Type* f32 = shaped(b_.getFloatTy(), v->getType());
  switch (narrow.scalar) {
    case Scalar::BF16:
      return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, i32), integer(i32, 16)), f32);
    case Scalar::F16:
      if (!traits_.has_half_convert) return half_bits_to_f32(v, 5, 10, true);
      return b_.CreateFPExt(b_.CreateBitCast(v, shaped(b_.getHalfTy(), v->getType())), f32);
    case Scalar::F8E5M2: {  // the upper byte of an f16
      if (!traits_.has_half_convert) return half_bits_to_f32(v, 5, 2, true);
      Type* i16 = shaped(b_.getInt16Ty(), v->getType());
      return widen(Scalar::F16, b_.CreateShl(b_.CreateZExt(v, i16), integer(i16, 8)));
    }
    default:
      return half_bits_to_f32(v, 4, 3, false);
  }
}

// Shifts exponent and mantissa into place and rebiases the exponent. A subnormal gets an exponent for its hidden zero
// and loses it by a subtraction, so that no f32 subnormal takes part: the process may have turned those off.
// has_infinity false: the e4m3fn layout, whose only special value is NaN with all magnitude bits set.
// Source: Giesen, "Float->half variants" (public domain).
llvm::Value* Arithmetic::half_bits_to_f32(Value* v, int exponent_bits, int mantissa_bits, bool has_infinity) {
  int bits = exponent_bits + mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  Type* i32 = shaped(b_.getInt32Ty(), v->getType());
  Type* f32 = shaped(b_.getFloatTy(), v->getType());
  Value* wide = b_.CreateZExt(v, i32);
  Value* magnitude = b_.CreateAnd(wide, integer(i32, (1u << bits) - 1));
  Value* sign =
      b_.CreateShl(b_.CreateAnd(wide, integer(i32, 1u << bits)), integer(i32, static_cast<unsigned>(31 - bits)));
  Value* placed = b_.CreateShl(magnitude, integer(i32, static_cast<unsigned>(23 - mantissa_bits)));
  Value* normal = b_.CreateAdd(placed, integer(i32, static_cast<unsigned>(127 - bias) << 23));
  Value* hidden = integer(i32, static_cast<unsigned>(128 - bias) << 23);
  Value* subtracted = b_.CreateBitCast(hidden, f32);
  Value* difference = b_.CreateFSub(b_.CreateBitCast(b_.CreateAdd(placed, hidden), f32), subtracted);
  Value* is_subnormal = b_.CreateICmpULT(magnitude, integer(i32, 1u << mantissa_bits));
  Value* finite = b_.CreateSelect(is_subnormal, b_.CreateBitCast(difference, i32), normal);
  unsigned special = has_infinity ? ((1u << exponent_bits) - 1) << mantissa_bits : (1u << bits) - 1;
  Value* is_special = b_.CreateICmpUGE(magnitude, integer(i32, special));
  Value* result = b_.CreateSelect(is_special, b_.CreateOr(placed, integer(i32, 0x7f800000u)), finite);
  return b_.CreateBitCast(b_.CreateOr(result, sign), f32);
}

llvm::Value* Arithmetic::round_narrow(DType narrow, Value* v) {
  if (v->getType()->getScalarType()->isDoubleTy()) v = f64_to_odd_f32(v);
  Type* i16 = shaped(b_.getInt16Ty(), v->getType());
  switch (narrow.scalar) {
    case Scalar::BF16: {
      Type* i32 = shaped(b_.getInt32Ty(), v->getType());
      Value* bits = b_.CreateBitCast(v, i32);
      Value* high = b_.CreateLShr(bits, integer(i32, 16));
      Value* bias = b_.CreateAdd(b_.CreateAnd(high, integer(i32, 1)), integer(i32, 0x7fff));
      Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, bias), integer(i32, 16));
      Value* quiet = b_.CreateOr(high, integer(i32, 0x40));
      return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded), i16);
    }
    case Scalar::F16:
      if (!traits_.has_half_convert) return b_.CreateTrunc(f32_to_small(v, 5, 10, true), i16);
      return b_.CreateBitCast(b_.CreateFPTrunc(v, shaped(b_.getHalfTy(), v->getType())), i16);
    case Scalar::F8E5M2:
      return b_.CreateTrunc(f32_to_small(v, 5, 2, true), shaped(b_.getInt8Ty(), v->getType()));
    default:
      return b_.CreateTrunc(f32_to_small(v, 4, 3, false), shaped(b_.getInt8Ty(), v->getType()));
  }
}

// f32 -> a small float's bits in i32, round to nearest even; overflow gives infinity, or NaN without has_infinity.
// Source: Giesen, "Float->half variants" (public domain).
llvm::Value* Arithmetic::f32_to_small(Value* v, int exponent_bits, int mantissa_bits, bool has_infinity) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  unsigned shift = static_cast<unsigned>(23 - mantissa_bits);
  Type* i32 = shaped(b_.getInt32Ty(), v->getType());
  Type* f32 = v->getType();
  Value* bits = b_.CreateBitCast(v, i32);
  Value* magnitude = b_.CreateAnd(bits, integer(i32, 0x7fffffffu));
  Value* sign = b_.CreateShl(b_.CreateLShr(bits, integer(i32, 31)),
                             integer(i32, static_cast<unsigned>(exponent_bits + mantissa_bits)));

  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, integer(i32, shift)), integer(i32, 1));
  unsigned rebias = static_cast<unsigned>(127 - bias) << 23;
  Value* rounding = b_.CreateAdd(odd, integer(i32, ((1u << (shift - 1)) - 1u) - rebias));
  Value* normal = b_.CreateLShr(b_.CreateAdd(magnitude, rounding), integer(i32, shift));

  // An addition whose unit in the last place is the subnormals' spacing rounds them.
  Value* magic = integer(i32, (static_cast<unsigned>(127 - bias) + shift + 1) << 23);
  Value* added = b_.CreateBitCast(magic, f32);
  Value* aligned = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), added);
  Value* subnormal = b_.CreateSub(b_.CreateBitCast(aligned, i32), magic);
  Value* is_subnormal = b_.CreateICmpULT(magnitude, integer(i32, static_cast<unsigned>(127 - bias + 1) << 23));

  unsigned infinity =
      has_infinity ? ((1u << exponent_bits) - 1) << mantissa_bits : (1u << (exponent_bits + mantissa_bits)) - 1;
  unsigned nan = has_infinity ? infinity | 1u << (mantissa_bits - 1) : infinity;
  Value* finite =
      b_.CreateSelect(is_subnormal, subnormal, call(llvm::Intrinsic::umin, {normal, integer(i32, infinity)}));
  Value* result = b_.CreateSelect(b_.CreateFCmpUNO(v, v), integer(i32, nan), finite);
  return b_.CreateOr(result, sign);
}

// Rounds to odd: a later rounding to fewer bits then equals one rounding of the f64 (Boldo and Melquiond, 2008).
llvm::Value* Arithmetic::f64_to_odd_f32(Value* v) {
  Type* i32 = shaped(b_.getInt32Ty(), v->getType());
  Type* f32 = shaped(b_.getFloatTy(), v->getType());
  Value* nearest = b_.CreateFPTrunc(v, f32);
  Value* back = b_.CreateFPExt(nearest, v->getType());
  Value* inexact = b_.CreateFCmpONE(back, v);
  Value* size = call(llvm::Intrinsic::fabs, {v});
  Value* too_big = b_.CreateFCmpOGT(call(llvm::Intrinsic::fabs, {back}), size);
  Value* bits = b_.CreateBitCast(nearest, i32);
  Value* truncated = b_.CreateSub(bits, b_.CreateZExt(too_big, i32));
  return b_.CreateBitCast(b_.CreateOr(truncated, b_.CreateZExt(inexact, i32)), f32);
}

llvm::Value* Arithmetic::round_to_integral(Op op, Value* x) {
  if (traits_.has_round) {
    switch (op) {
      case Op::Floor:
        return call(llvm::Intrinsic::floor, {x});
      case Op::Ceil:
        return call(llvm::Intrinsic::ceil, {x});
      case Op::Trunc:
        return call(llvm::Intrinsic::trunc, {x});
      default:
        return call(llvm::Intrinsic::roundeven, {x});
    }
  }
  // Adding and taking away 2^(mantissa bits) rounds to even; anything as large is integral already (NaN stays).
  Type* type = x->getType();
  Value* magic = real(type, type->getScalarType()->isDoubleTy() ? 0x1p52 : 0x1p23);
  Value* one = real(type, 1.0);
  Value* magnitude = call(llvm::Intrinsic::fabs, {x});
  Value* rounded = b_.CreateFSub(b_.CreateFAdd(magnitude, magic), magic);
  if (op == Op::Trunc) {
    Value* less = b_.CreateFSub(rounded, one);
    rounded = b_.CreateSelect(b_.CreateFCmpOGT(rounded, magnitude), less, rounded);
  }
  Value* result = call(llvm::Intrinsic::copysign, {rounded, x});
  if (op == Op::Floor) {
    Value* less = b_.CreateFSub(result, one);
    result = b_.CreateSelect(b_.CreateFCmpOGT(result, x), less, result);
  }
  if (op == Op::Ceil) {
    Value* more = b_.CreateFAdd(result, one);
    result = b_.CreateSelect(b_.CreateFCmpOLT(result, x), more, result);
  }
  result = call(llvm::Intrinsic::copysign, {result, x});
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, magic), result, x);
}

absl::StatusOr<llvm::Value*> Arithmetic::fma(DType dtype, Value* a, Value* b, Value* c) {
  if (traits_.has_fma) return call(llvm::Intrinsic::fma, {a, b, c});
  Type* type = a->getType();
  if (type->getScalarType()->isDoubleTy()) {
    return absl::UnimplementedError("codegen: fma on f64 needs a target with the feature fma");
  }
  // The product is exact in f64; the sum is rounded to odd there, so that rounding it to f32 is the one that counts.
  Type* f64 = shaped(b_.getDoubleTy(), type);
  Type* i64 = shaped(b_.getInt64Ty(), type);
  Value* wide_b = b_.CreateFPExt(b, f64);
  Value* product = b_.CreateFMul(b_.CreateFPExt(a, f64), wide_b);
  Value* addend = b_.CreateFPExt(c, f64);
  Value* sum = b_.CreateFAdd(product, addend);
  Value* part = b_.CreateFSub(sum, product);
  Value* of_addend = b_.CreateFSub(addend, part);
  Value* error = b_.CreateFAdd(b_.CreateFSub(product, b_.CreateFSub(sum, part)), of_addend);
  Value* zero = real(f64, 0.0);
  Value* bits = b_.CreateBitCast(sum, i64);
  Value* even = b_.CreateICmpEQ(b_.CreateAnd(bits, integer(i64, 1)), integer(i64, 0));
  Value* adjust = b_.CreateAnd(even, b_.CreateFCmpONE(error, zero));
  Value* is_positive = b_.CreateFCmpOGT(sum, zero);
  Value* outward = b_.CreateICmpEQ(b_.CreateFCmpOGT(error, zero), is_positive);
  Value* step = b_.CreateSelect(outward, integer(i64, 1), llvm::Constant::getAllOnesValue(i64));
  Value* odd = b_.CreateAdd(bits, b_.CreateSelect(adjust, step, integer(i64, 0)));
  return b_.CreateFPTrunc(b_.CreateBitCast(odd, f64), type);
}

}  // namespace hearth::codegen
