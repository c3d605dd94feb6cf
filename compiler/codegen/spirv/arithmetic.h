// Arithmetic: the elementwise ops of the IR on scalars, as SPIR-V instructions that give the values of uop.h: division
// by zero, shifts beyond the width, saturating casts, NaN in comparisons and in max and min. What SPIR-V leaves to the
// driver (a fused multiply-add of one rounding, rounding to f16) is written out in instructions that it does not.
//
// Used by one thread, with the module that it writes to. Errors: UNIMPLEMENTED for an op that no kernel of a target
// without vectors has; a feature that the target lacks is the module's to refuse.
//
//   Arithmetic arithmetic(module);
//   absl::StatusOr<spv::Id> sum = arithmetic.elementwise(node, operands);
#pragma once
#include <span>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "compiler/codegen/spirv/module.h"
#include "compiler/ir/rounding.h"

namespace hearth::codegen::spirv {

class Arithmetic {
 public:
  using Id = spv::Id;

  explicit Arithmetic(Module& module);

  // In a kernel's body sums of products of two values that are computed or loaded may be fused, which hardware does at
  // once. Drivers take other sums and products that are not said to be exact apart, too ((x + c) - c for x, by Mesa from
  // 25.1 on), and with them exponentials and logarithms.
  void find_fused(std::span<const ir::UOpRef> body);

  absl::StatusOr<Id> elementwise(ir::UOpRef node, std::span<const Id> operands);
  // One step of a reduction.
  Id combine(ir::ReduceKind kind, ir::Scalar scalar, Id a, Id b);

  // Between a value and what a buffer holds of it.
  Id to_memory(ir::Scalar scalar, Id value);
  Id from_memory(ir::Scalar scalar, Id value);

 private:
  absl::StatusOr<Id> float_op(ir::UOpRef node, Id type, std::span<const Id> v);
  absl::StatusOr<Id> integer_op(ir::UOpRef node, std::span<const Id> v);
  absl::StatusOr<Id> bool_op(ir::UOpRef node, std::span<const Id> v);
  Id compare(ir::UOpRef node, Id a, Id b);
  Id min_max(bool is_max, ir::Scalar scalar, Id a, Id b);
  Id divide(ir::UOpRef node, Id a, Id b);
  // Division of words of `bits` bits, which the operands fit.
  Id divide_unsigned(ir::UOpRef node, int bits, Id a, Id b);
  Id divide_signed(ir::UOpRef node, int bits, Id a, Id b);
  Id rest_of(Id type, Id a, Id b, Id quotient);
  Id shift(ir::UOpRef node, Id a, Id b);
  Id fma(Id type, Id a, Id b, Id c);
  Id round_to_integral(int entry, Id type, Id x);  // of GLSL.std.450
  Id with_sign_of(Id x, Id type, Id magnitude);    // or of a value that has the sign already

  Id cast(ir::Scalar from, ir::Scalar to, Id v);
  Id resize(ir::Scalar from, int bits, Id v);  // an integer: sign or zeros in front
  Id extend_sign(int has, int bits, Id v);
  Id float_to_integer(Id type, ir::Scalar to, Id v);
  Id integer_to_float(ir::Scalar from, ir::Scalar to, Id v);
  Id widen(ir::Scalar narrow, Id v);                  // to f32
  Id round_narrow(ir::Scalar narrow, Id type, Id v);  // type of v: f32 or f64
  Id bits_to_f32(Id v, const ir::NarrowFormat& format);
  Id f32_to_bits(Id v, const ir::NarrowFormat& format);
  Id f64_to_odd_f32(Id v);
  Id to_odd_53_bits(ir::Scalar from, Id v);

  // Instructions with operands of one type.
  Id op(spv::Op code, Id type, Id a) { return b_.createUnaryOp(code, type, a); }
  Id op(spv::Op code, Id type, Id a, Id b) {
    const Id result = b_.createBinOp(code, type, a, b);
    const bool is_rounded = code == spv::OpFAdd || code == spv::OpFSub || code == spv::OpFMul;
    if (is_rounded && !may_fuse_) b_.addDecoration(result, spv::DecorationNoContraction);
    return result;
  }
  Id test(spv::Op code, Id a, Id b) { return b_.createBinOp(code, m_.boolean(), a, b); }
  Id choose(Id condition, Id a, Id b) { return b_.createTriOp(spv::OpSelect, b_.getTypeId(a), condition, a, b); }
  Id library(int entry, Id type, Id a) { return b_.createBuiltinCall(type, library_, entry, {a}); }
  Id is_nan(Id v) { return test(spv::OpFUnordNotEqual, v, v); }
  Id u32(std::uint64_t value) { return m_.integer(32, value); }
  Id u64(std::uint64_t value) { return m_.integer(64, value); }

  Module& m_;
  spv::Builder& b_;
  const Id library_;                      // GLSL.std.450
  std::unordered_set<ir::UOpRef> fused_;  // by find_fused
  bool may_fuse_ = false;                 // what is emitted now
};

}  // namespace hearth::codegen::spirv
