// Reductions of Arithmetic: min and max, one step of an accumulator, and all lanes of a vector into one.
#include "compiler/codegen/llvm/arithmetic.h"
#include "compiler/ir/rounding.h"
#include "llvm/IR/Intrinsics.h"

namespace hearth::codegen {

using ir::DType;
using ir::ReduceKind;
using ir::Scalar;
using llvm::Intrinsic::ID;

llvm::Value* Arithmetic::min_max(bool is_max, DType dtype, Value* a, Value* b) {
  if (ir::is_float(dtype)) {
    llvm::FastMathFlags flags = flags_;
    flags.setNoSignedZeros();
    return call(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, {a, b}, flags);
  }
  if (ir::is_bool(dtype)) return is_max ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
  bool is_signed = ir::is_signed_int(dtype);
  ID id = is_max ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                 : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
  return call(id, {a, b});
}

llvm::Value* Arithmetic::combine(ReduceKind kind, DType dtype, Value* a, Value* b) {
  if (ir::is_narrow(dtype)) {
    Value* wide_b = widen(dtype, b);  // not as an argument: compilers order those as they like, so code would differ
    return round_narrow(dtype, combine(kind, DType(Scalar::F32, dtype.lanes), widen(dtype, a), wide_b));
  }
  if (kind == ReduceKind::Max || kind == ReduceKind::Min) return min_max(kind == ReduceKind::Max, dtype, a, b);
  bool is_sum = kind == ReduceKind::Sum;
  if (ir::is_float(dtype)) return flagged(is_sum ? b_.CreateFAdd(a, b) : b_.CreateFMul(a, b), reduce_flags_);
  if (ir::is_bool(dtype)) return is_sum ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
  return is_sum ? b_.CreateAdd(a, b) : b_.CreateMul(a, b);
}

llvm::Value* Arithmetic::horizontal(ReduceKind kind, DType element, Value* vector) {
  if (!vector->getType()->isVectorTy()) return vector;
  if (ir::is_narrow(element)) return round_narrow(element, horizontal(kind, Scalar::F32, widen(element, vector)));
  if (ir::is_float(element)) {
    Type* type = value_type(element.element());
    switch (kind) {
      case ReduceKind::Sum:
        return flagged(b_.CreateFAddReduce(real(type, -0.0), vector), reduce_flags_);
      case ReduceKind::Prod:
        return flagged(b_.CreateFMulReduce(real(type, 1.0), vector), reduce_flags_);
      case ReduceKind::Max:
        return flagged(b_.CreateFPMaximumReduce(vector), reduce_flags_);
      case ReduceKind::Min:
        return flagged(b_.CreateFPMinimumReduce(vector), reduce_flags_);
    }
  }
  if (ir::is_bool(element)) {
    bool any = kind == ReduceKind::Sum || kind == ReduceKind::Max;
    return any ? b_.CreateOrReduce(vector) : b_.CreateAndReduce(vector);
  }
  bool is_signed = ir::is_signed_int(element);
  switch (kind) {
    case ReduceKind::Sum:
      return b_.CreateAddReduce(vector);
    case ReduceKind::Prod:
      return b_.CreateMulReduce(vector);
    case ReduceKind::Max:
      return b_.CreateIntMaxReduce(vector, is_signed);
    default:
      return b_.CreateIntMinReduce(vector, is_signed);
  }
}

}  // namespace hearth::codegen
