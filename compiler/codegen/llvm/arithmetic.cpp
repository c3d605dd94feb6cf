#include "compiler/codegen/llvm/arithmetic.h"
#include "compiler/ir/rounding.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

namespace {

absl::Status not_lowered(UOpRef node) {
  return absl::UnimplementedError(absl::StrCat("codegen: ", ir::describe(node), ": no code for this op on ",
                                               ir::to_string(node->dtype), "; an earlier pass must lower it"));
}

bool excludes_zero(UOpRef node) { return node->bounds.min > 0 || node->bounds.max < 0; }

}  // namespace

Arithmetic::Arithmetic(llvm::IRBuilder<>& builder, const TargetTraits& traits, bool fast_math)
    : b_(builder), traits_(traits) {
  flags_.setAllowContract(true);
  if (fast_math) {
    flags_.setNoSignedZeros();
    flags_.setAllowReciprocal();
    flags_.setApproxFunc();
  }
  reduce_flags_ = flags_;
  reduce_flags_.setAllowReassoc();
  reduce_flags_.setNoSignedZeros();
}

llvm::Type* Arithmetic::value_type(DType dtype) {
  Type* element = nullptr;
  switch (dtype.scalar) {
    case Scalar::Bool:
      element = b_.getInt1Ty();
      break;
    case Scalar::F32:
      element = b_.getFloatTy();
      break;
    case Scalar::F64:
      element = b_.getDoubleTy();
      break;
    default:
      element = b_.getIntNTy(static_cast<unsigned>(ir::bit_width(dtype)));
      break;
  }
  return dtype.lanes > 1 ? llvm::FixedVectorType::get(element, dtype.lanes) : element;
}

llvm::Type* Arithmetic::memory_type(DType dtype) {
  return value_type(dtype.scalar == Scalar::Bool ? DType(Scalar::U8, dtype.lanes) : dtype);
}

llvm::Value* Arithmetic::to_memory(DType dtype, Value* value) {
  return dtype.scalar == Scalar::Bool ? b_.CreateZExt(value, shaped(b_.getInt8Ty(), value->getType())) : value;
}

llvm::Value* Arithmetic::from_memory(DType dtype, Value* value) {
  return dtype.scalar == Scalar::Bool ? b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())) : value;
}

llvm::Constant* Arithmetic::constant(DType dtype, const ir::ConstValue& value) {
  Type* type = value_type(dtype);
  if (!ir::is_float(dtype)) return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value.i), true);
  if (!ir::is_narrow(dtype)) return llvm::ConstantFP::get(type, value.f);
  const llvm::fltSemantics* semantics = nullptr;
  switch (dtype.scalar) {
    case Scalar::F16:
      semantics = &llvm::APFloat::IEEEhalf();
      break;
    case Scalar::BF16:
      semantics = &llvm::APFloat::BFloat();
      break;
    case Scalar::F8E4M3:
      semantics = &llvm::APFloat::Float8E4M3FN();
      break;
    default:
      semantics = &llvm::APFloat::Float8E5M2();
      break;
  }
  llvm::APFloat number(value.f);
  bool inexact = false;
  number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return llvm::ConstantInt::get(type, number.bitcastToAPInt().getZExtValue());
}

absl::StatusOr<llvm::Value*> Arithmetic::elementwise(UOpRef node, std::span<Value* const> v) {
  DType operand = node->source(node->op == Op::Where ? 1 : 0)->dtype;
  switch (node->op) {
    case Op::Where:
      return b_.CreateSelect(v[0], v[1], v[2]);
    case Op::Cast:
      return cast(operand, node->dtype, v[0]);
    case Op::Bitcast:
      return b_.CreateBitCast(v[0], value_type(node->dtype));
    default:
      break;
  }
  if (ir::op_class(node->op) == ir::OpClass::Compare) return compare(node, v[0], v[1]);
  if (ir::is_narrow(operand)) {
    Value* wide[3] = {};
    for (std::size_t i = 0; i < v.size(); ++i) wide[i] = widen(operand, v[i]);
    absl::StatusOr<Value*> result = float_op(node, std::span<Value* const>(wide, v.size()));
    if (!result.ok()) return result;
    return round_narrow(operand, *result);
  }
  if (ir::is_float(operand)) return float_op(node, v);
  return ir::is_bool(operand) ? bool_op(node, v) : integer_op(node, v);
}

absl::StatusOr<llvm::Value*> Arithmetic::float_op(UOpRef node, std::span<Value* const> v) {
  DType dtype = node->dtype;
  switch (node->op) {
    case Op::Neg:
      return b_.CreateFNeg(v[0]);
    case Op::Abs:
      return call(llvm::Intrinsic::fabs, {v[0]});
    case Op::Recip:
      return flagged(b_.CreateFDiv(real(v[0]->getType(), 1.0), v[0]), flags_);
    case Op::Sqrt:
      return call(llvm::Intrinsic::sqrt, {v[0]});
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return round_to_integral(node->op, v[0]);
    case Op::Add:
      return flagged(b_.CreateFAdd(v[0], v[1]), flags_);
    case Op::Sub:
      return flagged(b_.CreateFSub(v[0], v[1]), flags_);
    case Op::Mul:
      return flagged(b_.CreateFMul(v[0], v[1]), flags_);
    case Op::Div:
      return flagged(b_.CreateFDiv(v[0], v[1]), flags_);
    case Op::Max:
      return min_max(true, dtype, v[0], v[1]);
    case Op::Min:
      return min_max(false, dtype, v[0], v[1]);
    case Op::Fma:
      return fma(dtype, v[0], v[1], v[2]);
    case Op::ScaleB:
      if (!traits_.has_scaleb || dtype.lanes * ir::bit_width(dtype) != 512) return not_lowered(node);
      return scaleb(v[0], v[1]);
    default:
      return not_lowered(node);
  }
}

// AVX-512's, unmasked.
llvm::Value* Arithmetic::scaleb(Value* x, Value* n) {
  const bool wide = x->getType()->getScalarType()->isDoubleTy();
  Value* all = llvm::Constant::getAllOnesValue(b_.getIntNTy(lanes_of(x->getType())));
  constexpr int kCurrentRounding = 4;
  return b_.CreateIntrinsic(
      wide ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
      {x, n, x, all, b_.getInt32(kCurrentRounding)});
}

absl::StatusOr<llvm::Value*> Arithmetic::integer_op(UOpRef node, std::span<Value* const> v) {
  bool is_signed = ir::is_signed_int(node->dtype);
  switch (node->op) {
    case Op::Neg:
      return b_.CreateNeg(v[0]);
    case Op::Not:
      return b_.CreateNot(v[0]);
    case Op::Abs:
      return is_signed ? call(llvm::Intrinsic::abs, {v[0], b_.getFalse()}) : v[0];
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return v[0];
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      return wrapping(node, v[0], v[1]);
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::FloorDiv:
    case Op::FloorMod:
      return divide(node, v[0], v[1]);
    case Op::Max:
    case Op::Min:
      return min_max(node->op == Op::Max, node->dtype, v[0], v[1]);
    case Op::And:
      return b_.CreateAnd(v[0], v[1]);
    case Op::Or:
      return b_.CreateOr(v[0], v[1]);
    case Op::Xor:
      return b_.CreateXor(v[0], v[1]);
    case Op::Shl:
    case Op::Shr:
      return shift(node, v[0], v[1]);
    case Op::Fma:
      return b_.CreateAdd(b_.CreateMul(v[0], v[1]), v[2]);
    default:
      return not_lowered(node);
  }
}

absl::StatusOr<llvm::Value*> Arithmetic::bool_op(UOpRef node, std::span<Value* const> v) {
  switch (node->op) {
    case Op::Not:
      return b_.CreateNot(v[0]);
    case Op::And:
    case Op::Mul:
    case Op::Min:
      return b_.CreateAnd(v[0], v[1]);
    case Op::Or:
    case Op::Add:
    case Op::Max:
      return b_.CreateOr(v[0], v[1]);
    case Op::Xor:
      return b_.CreateXor(v[0], v[1]);
    default:
      return not_lowered(node);
  }
}

llvm::Value* Arithmetic::compare(UOpRef node, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  DType t = node->source(0)->dtype;
  if (ir::is_float(t)) {
    if (ir::is_narrow(t)) a = widen(t, a), b = widen(t, b);
    switch (node->op) {
      case Op::Lt:
        return b_.CreateFCmp(P::FCMP_OLT, a, b);
      case Op::Le:
        return b_.CreateFCmp(P::FCMP_OLE, a, b);
      case Op::Eq:
        return b_.CreateFCmp(P::FCMP_OEQ, a, b);
      default:
        return b_.CreateFCmp(P::FCMP_UNE, a, b);
    }
  }
  bool is_signed = ir::is_signed_int(t);
  switch (node->op) {
    case Op::Lt:
      return b_.CreateICmp(is_signed ? P::ICMP_SLT : P::ICMP_ULT, a, b);
    case Op::Le:
      return b_.CreateICmp(is_signed ? P::ICMP_SLE : P::ICMP_ULE, a, b);
    case Op::Eq:
      return b_.CreateICmpEQ(a, b);
    default:
      return b_.CreateICmpNE(a, b);
  }
}

// nsw/nuw tell the loop optimiser that addresses do not wrap; the bounds of the operands prove it.
llvm::Value* Arithmetic::wrapping(UOpRef node, Value* a, Value* b) {
  using Wide = __int128;
  const ir::Bounds x = node->source(0)->bounds, y = node->source(1)->bounds;
  constexpr Wide kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
  Wide corners[4] = {};
  for (int i = 0; i < 4; ++i) {
    Wide p = i & 1 ? x.max : x.min, q = i & 2 ? y.max : y.min;
    corners[i] = node->op == Op::Add ? p + q : node->op == Op::Sub ? p - q : p * q;
  }
  Wide low = std::min(std::min(corners[0], corners[1]), std::min(corners[2], corners[3]));
  Wide high = std::max(std::max(corners[0], corners[1]), std::max(corners[2], corners[3]));
  bool known = x.max < kMax && y.max < kMax && low > kMin && high < kMax;
  DType t = node->dtype;
  bool fits = known && low >= ir::int_min(t) && high <= ir::int_max(t);
  bool nsw = fits && ir::is_signed_int(t);
  bool nuw = fits && x.min >= 0 && y.min >= 0 && low >= 0;
  switch (node->op) {
    case Op::Add:
      return b_.CreateAdd(a, b, "", nuw, nsw);
    case Op::Sub:
      return b_.CreateSub(a, b, "", nuw, nsw);
    default:
      return b_.CreateMul(a, b, "", nuw, nsw);
  }
}

llvm::Value* Arithmetic::divide(UOpRef node, Value* a, Value* b) {
  UOpRef dividend = node->source(0), divisor = node->source(1);
  Type* type = a->getType();
  Value* zero = llvm::Constant::getNullValue(type);
  Value* one = integer(type, 1);
  bool is_div = node->op == Op::TruncDiv || node->op == Op::FloorDiv;
  bool is_floor = node->op == Op::FloorDiv || node->op == Op::FloorMod;
  bool guard_zero = !excludes_zero(divisor);
  Value* by_zero = guard_zero ? b_.CreateICmpEQ(b, zero) : nullptr;

  bool non_negative = dividend->bounds.min >= 0 && divisor->bounds.min >= 0;
  if (ir::is_unsigned_int(node->dtype) || non_negative) {
    Value* safe = guard_zero ? b_.CreateSelect(by_zero, one, b) : b;
    const auto fits = [](const ir::Bounds& bounds) { return bounds.min >= 0 && bounds.max <= UINT32_MAX; };
    const bool is_narrow =
        traits_.divides_narrow && type->isIntegerTy(64) && fits(dividend->bounds) && fits(divisor->bounds);
    if (is_narrow) a = b_.CreateTrunc(a, b_.getInt32Ty()), safe = b_.CreateTrunc(safe, b_.getInt32Ty());
    Value* result = is_div ? b_.CreateUDiv(a, safe) : b_.CreateURem(a, safe);
    if (is_narrow) result = b_.CreateZExt(result, type);
    return guard_zero ? b_.CreateSelect(by_zero, zero, result) : result;
  }
  // INT_MIN / -1 traps in hardware: divide by 1 and negate instead.
  bool may_overflow =
      dividend->bounds.min <= ir::int_min(node->dtype) && divisor->bounds.min <= -1 && divisor->bounds.max >= -1;
  Value* by_minus_one = may_overflow ? b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type)) : nullptr;
  Value* safe = b;
  if (guard_zero) safe = b_.CreateSelect(by_zero, one, safe);
  if (may_overflow) safe = b_.CreateSelect(by_minus_one, one, safe);
  Value* quotient = b_.CreateSDiv(a, safe);
  Value* remainder = b_.CreateSRem(a, safe);
  if (is_floor) {
    Value* inexact = b_.CreateICmpNE(remainder, zero);
    Value* signs_differ = b_.CreateICmpSLT(b_.CreateXor(remainder, safe), zero);
    Value* adjust = b_.CreateAnd(inexact, signs_differ);
    quotient = b_.CreateSelect(adjust, b_.CreateSub(quotient, one), quotient);
    remainder = b_.CreateSelect(adjust, b_.CreateAdd(remainder, safe), remainder);
  }
  Value* result = is_div ? quotient : remainder;
  if (may_overflow) result = b_.CreateSelect(by_minus_one, is_div ? b_.CreateNeg(a) : zero, result);
  if (guard_zero) result = b_.CreateSelect(by_zero, zero, result);
  return result;
}

llvm::Value* Arithmetic::shift(UOpRef node, Value* a, Value* b) {
  DType t = node->dtype;
  const ir::Bounds amount = node->source(1)->bounds;
  int width = ir::bit_width(t);
  bool in_range = amount.min >= 0 && amount.max < width;
  Type* type = a->getType();
  if (node->op == Op::Shr && ir::is_signed_int(t)) {
    if (!in_range) b = call(llvm::Intrinsic::umin, {b, integer(type, static_cast<std::uint64_t>(width - 1))});
    return b_.CreateAShr(a, b);
  }
  Value* result = node->op == Op::Shl ? b_.CreateShl(a, b) : b_.CreateLShr(a, b);
  if (in_range) return result;
  Value* defined = b_.CreateICmpULT(b, integer(type, static_cast<std::uint64_t>(width)));
  return b_.CreateSelect(defined, result, llvm::Constant::getNullValue(type));
}

llvm::Type* Arithmetic::shaped(Type* element, Type* like) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}
llvm::Value* Arithmetic::integer(Type* type, std::uint64_t value) { return llvm::ConstantInt::get(type, value); }
llvm::Value* Arithmetic::real(Type* type, double value) { return llvm::ConstantFP::get(type, value); }

llvm::Value* Arithmetic::call(llvm::Intrinsic::ID id, std::initializer_list<Value*> arguments,
                              llvm::FastMathFlags flags) {
  Type* type = (*arguments.begin())->getType();
  return flagged(b_.CreateIntrinsic(id, {type}, llvm::ArrayRef<Value*>(arguments.begin(), arguments.size())), flags);
}

llvm::Value* Arithmetic::flagged(Value* value, llvm::FastMathFlags flags) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction && llvm::isa<llvm::FPMathOperator>(instruction)) instruction->setFastMathFlags(flags);
  return value;
}

}  // namespace hearth::codegen
