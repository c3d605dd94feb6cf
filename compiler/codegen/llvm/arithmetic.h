// Value-level semantics of uop.h in LLVM IR: elementwise operations, conversions and reduction steps on scalars and
// on vectors of any lane count. Holds no state but the builder; single-threaded.
//
// Representation of a value: bool is i1, index is i64, f16 and bf16 are their bits in i16, fp8 its bits in i8 (so no
// target needs half types or library calls), everything else its natural LLVM type.
#pragma once
#include <span>

#include "absl/status/statusor.h"
#include "compiler/codegen/llvm/target_machine.h"
#include "compiler/ir/uop.h"
#include "llvm/IR/IRBuilder.h"

namespace hearth::codegen {

class Arithmetic {
 public:
  Arithmetic(llvm::IRBuilder<>& builder, const TargetTraits& traits, bool fast_math);

  llvm::Type* value_type(ir::DType dtype);   // in registers
  llvm::Type* memory_type(ir::DType dtype);  // in buffers: bool is i8
  llvm::Value* to_memory(ir::DType dtype, llvm::Value* value);
  llvm::Value* from_memory(ir::DType dtype, llvm::Value* value);
  llvm::Constant* constant(ir::DType dtype, const ir::ConstValue& value);

  // An elementwise op whose operands are given; UNIMPLEMENTED names an op that earlier passes should have lowered.
  absl::StatusOr<llvm::Value*> elementwise(ir::UOpRef node, std::span<llvm::Value* const> operands);
  // a (kind) b: one step of a reduction, free to be reordered.
  llvm::Value* combine(ir::ReduceKind kind, ir::DType dtype, llvm::Value* a, llvm::Value* b);
  // `sum` plus a wmma of a and b.
  absl::StatusOr<llvm::Value*> wmma(ir::UOpRef node, llvm::Value* a, llvm::Value* b, llvm::Value* sum);
  llvm::Value* widen(ir::DType narrow, llvm::Value* v);  // f16, bf16, fp8 -> f32
  // All lanes of `vector` (of element type `element`) reduced to one.
  llvm::Value* horizontal(ir::ReduceKind kind, ir::DType element, llvm::Value* vector);

 private:
  using Value = llvm::Value;
  using Type = llvm::Type;

  absl::StatusOr<Value*> float_op(ir::UOpRef node, std::span<Value* const> v);
  absl::StatusOr<Value*> integer_op(ir::UOpRef node, std::span<Value* const> v);
  absl::StatusOr<Value*> bool_op(ir::UOpRef node, std::span<Value* const> v);
  absl::StatusOr<Value*> fma(ir::DType dtype, Value* a, Value* b, Value* c);
  Value* compare(ir::UOpRef node, Value* a, Value* b);
  Value* wrapping(ir::UOpRef node, Value* a, Value* b);  // add, sub, mul with the flags that bounds prove
  Value* divide(ir::UOpRef node, Value* a, Value* b);
  Value* shift(ir::UOpRef node, Value* a, Value* b);
  Value* min_max(bool is_max, ir::DType dtype, Value* a, Value* b);
  Value* bf16_pairs(Value* a, Value* b, Value* sum);
  Value* byte_groups(ir::Scalar left, ir::Scalar right, Value* a, Value* b, Value* sum);
  Value* round_to_integral(ir::Op op, Value* x);
  Value* scaleb(Value* x, Value* n);

  // Conversions (convert.cpp); reductions are in reduction.cpp.
  Value* cast(ir::DType from, ir::DType to, Value* v);
  Value* round_narrow(ir::DType narrow, Value* v);  // f32 or f64 -> f16, bf16, fp8; one rounding
  Value* int_to_float(ir::DType from, ir::DType to, Value* v);
  Value* half_bits_to_f32(Value* v, int exponent_bits, int mantissa_bits, bool has_infinity);
  Value* f32_to_small(Value* v, int exponent_bits, int mantissa_bits, bool has_infinity);
  Value* f64_to_odd_f32(Value* v);

  Type* shaped(Type* element, Type* like);  // element type with the lane count of `like`
  Value* integer(Type* type, std::uint64_t value);
  Value* real(Type* type, double value);
  Value* call(llvm::Intrinsic::ID id, std::initializer_list<Value*> arguments, llvm::FastMathFlags flags = {});
  Value* flagged(Value* instruction, llvm::FastMathFlags flags);
  static unsigned lanes_of(Type* type);

  llvm::IRBuilder<>& b_;
  TargetTraits traits_;
  llvm::FastMathFlags flags_;         // of every float add, sub, mul, div
  llvm::FastMathFlags reduce_flags_;  // of sum and prod reductions
};

}  // namespace hearth::codegen
