#include "compiler/codegen/spirv/arithmetic.h"

#include <glslang/SPIRV/GLSL.std.450.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::spirv {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

namespace {

// 32 where the bounds allow it: GPUs have no 64-bit division, and indices are short.
int bits_of_division(UOpRef node, bool is_unsigned) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMostUnsigned = std::numeric_limits<std::uint32_t>::max();
  const auto fits = [&](const ir::Bounds& bounds) {
    return is_unsigned ? bounds.min >= 0 && bounds.max <= kMostUnsigned : bounds.min >= -kMost && bounds.max <= kMost;
  };
  const int bits = ir::bit_width(node->dtype.scalar);
  return bits == 64 && fits(node->source(0)->bounds) && fits(node->source(1)->bounds) ? 32 : bits;
}

absl::Status not_lowered(UOpRef node) {
  return absl::UnimplementedError(absl::StrCat("codegen: ", ir::describe(node), ": no code for this op on ",
                                               ir::to_string(node->dtype), "; an earlier pass must lower it"));
}

bool excludes_zero(UOpRef node) { return node->bounds.min > 0 || node->bounds.max < 0; }

}  // namespace

Arithmetic::Arithmetic(Module& module)
    : m_(module), b_(module.builder()), library_(module.builder().import("GLSL.std.450")) {}

spv::Id Arithmetic::to_memory(Scalar scalar, Id value) {
  return ir::is_bool(scalar) ? choose(value, m_.integer(8, 1), m_.integer(8, 0)) : value;
}

spv::Id Arithmetic::from_memory(Scalar scalar, Id value) {
  return ir::is_bool(scalar) ? test(spv::OpINotEqual, value, m_.integer(8, 0)) : value;
}

void Arithmetic::find_fused(std::span<const UOpRef> body) {
  const auto is_product = [](UOpRef x) {
    return x->is(Op::Mul) && (x->dtype.scalar == Scalar::F32 || x->dtype.scalar == Scalar::F64) &&
           !x->source(0)->is_const() && !x->source(1)->is_const();
  };
  for (UOpRef node : body) {
    if (!node->is(Op::Add) && !node->is(Op::Sub) && !node->is(Op::AccUpdate)) continue;
    for (UOpRef source : node->sources) {
      if (is_product(source)) fused_.insert({node, source});
    }
  }
}

absl::StatusOr<spv::Id> Arithmetic::elementwise(UOpRef node, std::span<const Id> v) {
  const Scalar operand = node->source(node->is(Op::Where) ? 1 : 0)->dtype.scalar;
  switch (node->op) {
    case Op::Where:
      return choose(v[0], v[1], v[2]);
    case Op::Cast:
      return cast(operand, node->dtype.scalar, v[0]);
    case Op::Bitcast: {
      const Id type = m_.value_type(node->dtype.scalar);
      return b_.getTypeId(v[0]) == type ? v[0] : op(spv::OpBitcast, type, v[0]);
    }
    default:
      break;
  }
  if (ir::op_class(node->op) == ir::OpClass::Compare) return compare(node, v[0], v[1]);
  if (ir::is_narrow(operand)) {
    Id wide[3] = {};
    for (std::size_t i = 0; i < v.size(); ++i) wide[i] = widen(operand, v[i]);
    absl::StatusOr<Id> result = float_op(node, m_.f32(), std::span<const Id>(wide, v.size()));
    if (!result.ok()) return result;
    return round_narrow(operand, m_.f32(), *result);
  }
  if (ir::is_float(operand)) {
    may_fuse_ = fused_.contains(node);
    const absl::StatusOr<Id> result = float_op(node, m_.value_type(operand), v);
    may_fuse_ = false;
    return result;
  }
  return ir::is_bool(operand) ? bool_op(node, v) : integer_op(node, v);
}

absl::StatusOr<spv::Id> Arithmetic::float_op(UOpRef node, Id type, std::span<const Id> v) {
  switch (node->op) {
    case Op::Neg:
      return op(spv::OpFNegate, type, v[0]);
    case Op::Abs:
      return library(GLSLstd450FAbs, type, v[0]);
    case Op::Recip:
      return op(spv::OpFDiv, type, m_.real(type, 1.0), v[0]);
    case Op::Sqrt:
      return library(GLSLstd450Sqrt, type, v[0]);
    case Op::Floor:
      return round_to_integral(GLSLstd450Floor, type, v[0]);
    case Op::Ceil:
      return round_to_integral(GLSLstd450Ceil, type, v[0]);
    case Op::Round:
      return round_to_integral(GLSLstd450RoundEven, type, v[0]);
    case Op::Trunc:
      return round_to_integral(GLSLstd450Trunc, type, v[0]);
    case Op::Add:
      return op(spv::OpFAdd, type, v[0], v[1]);
    case Op::Sub:
      return op(spv::OpFSub, type, v[0], v[1]);
    case Op::Mul:
      return op(spv::OpFMul, type, v[0], v[1]);
    case Op::Div:
      return op(spv::OpFDiv, type, v[0], v[1]);
    case Op::Max:
    case Op::Min:
      return min_max(node->is(Op::Max), Scalar::F32, v[0], v[1]);
    case Op::Fma:
      return fma(type, v[0], v[1], v[2]);
    default:
      return not_lowered(node);
  }
}

// With the sign of x: lavapipe's trunc of an f64 makes 0 of -0. Its roundEven of an f64 makes 1 of 1.5: adding and
// taking away 2^52 rounds to even, and anything as large is integral already (NaN stays).
spv::Id Arithmetic::round_to_integral(int entry, Id type, Id x) {
  const int bits = b_.getScalarTypeWidth(type);
  if (entry == GLSLstd450RoundEven && bits == 64) {
    const Id magic = m_.real(type, 0x1p52), magnitude = library(GLSLstd450FAbs, type, x);
    const Id added = op(spv::OpFAdd, type, magnitude, magic);
    const Id rounded = op(spv::OpFSub, type, added, magic);
    const Id is_small = test(spv::OpFOrdLessThan, magnitude, magic);
    return choose(is_small, with_sign_of(x, type, rounded), x);
  }
  return with_sign_of(x, type, library(entry, type, x));
}

spv::Id Arithmetic::with_sign_of(Id x, Id type, Id magnitude) {
  const int bits = b_.getScalarTypeWidth(type);
  const Id word = m_.word(bits), sign = m_.integer(bits, std::uint64_t{1} << (bits - 1));
  const Id of_x = op(spv::OpBitwiseAnd, word, op(spv::OpBitcast, word, x), sign);
  return op(spv::OpBitcast, type, op(spv::OpBitwiseOr, word, op(spv::OpBitcast, word, magnitude), of_x));
}

absl::StatusOr<spv::Id> Arithmetic::integer_op(UOpRef node, std::span<const Id> v) {
  const Scalar scalar = node->dtype.scalar;
  const int bits = ir::bit_width(scalar);
  const Id type = m_.word(bits);
  switch (node->op) {
    case Op::Neg:
      return op(spv::OpSNegate, type, v[0]);
    case Op::Not:
      return op(spv::OpNot, type, v[0]);
    case Op::Abs:
      if (!ir::is_signed_int(scalar)) return v[0];
      return choose(test(spv::OpSLessThan, v[0], m_.integer(bits, 0)), op(spv::OpSNegate, type, v[0]), v[0]);
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return v[0];
    case Op::Add:
      return op(spv::OpIAdd, type, v[0], v[1]);
    case Op::Sub:
      return op(spv::OpISub, type, v[0], v[1]);
    case Op::Mul:
      return op(spv::OpIMul, type, v[0], v[1]);
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::FloorDiv:
    case Op::FloorMod:
      return divide(node, v[0], v[1]);
    case Op::Max:
    case Op::Min:
      return min_max(node->is(Op::Max), scalar, v[0], v[1]);
    case Op::And:
      return op(spv::OpBitwiseAnd, type, v[0], v[1]);
    case Op::Or:
      return op(spv::OpBitwiseOr, type, v[0], v[1]);
    case Op::Xor:
      return op(spv::OpBitwiseXor, type, v[0], v[1]);
    case Op::Shl:
    case Op::Shr:
      return shift(node, v[0], v[1]);
    case Op::Fma:
      return op(spv::OpIAdd, type, op(spv::OpIMul, type, v[0], v[1]), v[2]);
    default:
      return not_lowered(node);
  }
}

absl::StatusOr<spv::Id> Arithmetic::bool_op(UOpRef node, std::span<const Id> v) {
  const Id type = m_.boolean();
  switch (node->op) {
    case Op::Not:
      return op(spv::OpLogicalNot, type, v[0]);
    case Op::And:
    case Op::Mul:
    case Op::Min:
      return op(spv::OpLogicalAnd, type, v[0], v[1]);
    case Op::Or:
    case Op::Add:
    case Op::Max:
      return op(spv::OpLogicalOr, type, v[0], v[1]);
    case Op::Xor:
      return op(spv::OpLogicalNotEqual, type, v[0], v[1]);
    default:
      return not_lowered(node);
  }
}

spv::Id Arithmetic::compare(UOpRef node, Id a, Id b) {
  const Scalar scalar = node->source(0)->dtype.scalar;
  if (ir::is_float(scalar)) {
    if (ir::is_narrow(scalar)) a = widen(scalar, a), b = widen(scalar, b);
    switch (node->op) {
      case Op::Lt:
        return test(spv::OpFOrdLessThan, a, b);
      case Op::Le:
        return test(spv::OpFOrdLessThanEqual, a, b);
      case Op::Eq:
        return test(spv::OpFOrdEqual, a, b);
      default:
        return test(spv::OpFUnordNotEqual, a, b);
    }
  }
  if (ir::is_bool(scalar)) {  // false < true
    switch (node->op) {
      case Op::Lt:
        return test(spv::OpLogicalAnd, op(spv::OpLogicalNot, m_.boolean(), a), b);
      case Op::Le:
        return test(spv::OpLogicalOr, op(spv::OpLogicalNot, m_.boolean(), a), b);
      case Op::Eq:
        return test(spv::OpLogicalEqual, a, b);
      default:
        return test(spv::OpLogicalNotEqual, a, b);
    }
  }
  const bool is_signed = ir::is_signed_int(scalar);
  switch (node->op) {
    case Op::Lt:
      return test(is_signed ? spv::OpSLessThan : spv::OpULessThan, a, b);
    case Op::Le:
      return test(is_signed ? spv::OpSLessThanEqual : spv::OpULessThanEqual, a, b);
    case Op::Eq:
      return test(spv::OpIEqual, a, b);
    default:
      return test(spv::OpINotEqual, a, b);
  }
}

// The lesser or greater of two values; for floats NaN where either is NaN, and `scalar` may be any float type.
spv::Id Arithmetic::min_max(bool is_max, Scalar scalar, Id a, Id b) {
  if (ir::is_float(scalar)) {
    const Id a_wins = test(is_max ? spv::OpFOrdGreaterThan : spv::OpFOrdLessThan, a, b);
    return choose(test(spv::OpLogicalOr, a_wins, is_nan(a)), a, b);
  }
  if (ir::is_bool(scalar)) return test(is_max ? spv::OpLogicalOr : spv::OpLogicalAnd, a, b);
  const bool is_signed = ir::is_signed_int(scalar);
  const spv::Op greater = is_signed ? spv::OpSGreaterThan : spv::OpUGreaterThan;
  const spv::Op less = is_signed ? spv::OpSLessThan : spv::OpULessThan;
  return choose(test(is_max ? greater : less, a, b), a, b);
}

spv::Id Arithmetic::combine(ir::ReduceKind kind, Scalar scalar, Id a, Id b) {
  if (ir::is_narrow(scalar)) {
    const Id wide_a = widen(scalar, a), wide_b = widen(scalar, b);
    return round_narrow(scalar, m_.f32(), combine(kind, Scalar::F32, wide_a, wide_b));
  }
  if (kind == ir::ReduceKind::Max || kind == ir::ReduceKind::Min)
    return min_max(kind == ir::ReduceKind::Max, scalar, a, b);
  const bool is_sum = kind == ir::ReduceKind::Sum;
  if (ir::is_bool(scalar)) return test(is_sum ? spv::OpLogicalOr : spv::OpLogicalAnd, a, b);
  if (ir::is_float(scalar)) {
    may_fuse_ = is_sum;
    const Id combined = op(is_sum ? spv::OpFAdd : spv::OpFMul, m_.value_type(scalar), a, b);
    may_fuse_ = false;
    return combined;
  }
  return op(is_sum ? spv::OpIAdd : spv::OpIMul, m_.value_type(scalar), a, b);
}

// x div 0 = 0 and x mod 0 = 0; INT_MIN div -1 = INT_MIN, INT_MIN mod -1 = 0: SPIR-V defines none of them.
spv::Id Arithmetic::divide(UOpRef node, Id a, Id b) {
  const Scalar scalar = node->dtype.scalar;
  const bool is_unsigned =
      ir::is_unsigned_int(scalar) || (node->source(0)->bounds.min >= 0 && node->source(1)->bounds.min >= 0);
  const int bits = ir::bit_width(scalar), needed = bits_of_division(node, is_unsigned);
  if (needed < bits) {
    a = op(spv::OpUConvert, m_.word(needed), a);
    b = op(spv::OpUConvert, m_.word(needed), b);
  }
  const Id result = is_unsigned ? divide_unsigned(node, needed, a, b) : divide_signed(node, needed, a, b);
  if (needed == bits) return result;
  const bool is_positive = is_unsigned || node->bounds.min >= 0;
  return is_positive ? op(spv::OpUConvert, m_.word(bits), result) : extend_sign(needed, bits, result);
}

// A remainder is the rest of a division, which costs the same: NVIDIA's compiler (580.159) takes (x / 3) % 3 and x % 3
// of 64 bits for one value where both are in addresses, so that a matrix times its own transpose became the squares of
// its rows.
spv::Id Arithmetic::rest_of(Id type, Id a, Id b, Id quotient) {
  return op(spv::OpISub, type, a, op(spv::OpIMul, type, quotient, b));
}

spv::Id Arithmetic::divide_unsigned(UOpRef node, int bits, Id a, Id b) {
  const Id type = m_.word(bits), zero = m_.integer(bits, 0);
  const bool may_be_zero = !excludes_zero(node->source(1));
  const Id by_zero = may_be_zero ? test(spv::OpIEqual, b, zero) : spv::NoResult;
  const Id safe = may_be_zero ? choose(by_zero, m_.integer(bits, 1), b) : b;
  const Id quotient = op(spv::OpUDiv, type, a, safe);
  const bool is_div = node->is(Op::TruncDiv) || node->is(Op::FloorDiv);
  const Id result = is_div ? quotient : rest_of(type, a, safe, quotient);
  return may_be_zero ? choose(by_zero, zero, result) : result;
}

spv::Id Arithmetic::divide_signed(UOpRef node, int bits, Id a, Id b) {
  const Id type = m_.word(bits), zero = m_.integer(bits, 0), one = m_.integer(bits, 1);
  const bool is_div = node->is(Op::TruncDiv) || node->is(Op::FloorDiv);
  const bool is_floor = node->is(Op::FloorDiv) || node->is(Op::FloorMod);
  const ir::Bounds dividend = node->source(0)->bounds, divisor = node->source(1)->bounds;
  const bool may_be_zero = !excludes_zero(node->source(1));
  const Id by_zero = may_be_zero ? test(spv::OpIEqual, b, zero) : spv::NoResult;
  const bool may_overflow = dividend.min <= ir::int_min(node->dtype.scalar) && divisor.min <= -1 && divisor.max >= -1;
  const Id by_minus_one = may_overflow ? test(spv::OpIEqual, b, m_.integer(bits, ~std::uint64_t{0})) : spv::NoResult;
  Id safe = b;
  if (may_be_zero) safe = choose(by_zero, one, safe);
  if (may_overflow) safe = choose(by_minus_one, one, safe);
  Id quotient = op(spv::OpSDiv, type, a, safe);
  // Nor is OpSRem's sign defined for negative operands without an extension of Vulkan.
  Id remainder = rest_of(type, a, safe, quotient);
  if (is_floor) {
    const Id inexact = test(spv::OpINotEqual, remainder, zero);
    const Id signs_differ = test(spv::OpSLessThan, op(spv::OpBitwiseXor, type, remainder, safe), zero);
    const Id adjust = test(spv::OpLogicalAnd, inexact, signs_differ);
    quotient = choose(adjust, op(spv::OpISub, type, quotient, one), quotient);
    remainder = choose(adjust, op(spv::OpIAdd, type, remainder, safe), remainder);
  }
  Id result = is_div ? quotient : remainder;
  if (may_overflow) result = choose(by_minus_one, is_div ? op(spv::OpSNegate, type, a) : zero, result);
  if (may_be_zero) result = choose(by_zero, zero, result);
  return result;
}

spv::Id Arithmetic::shift(UOpRef node, Id a, Id b) {
  const Scalar scalar = node->dtype.scalar;
  const int bits = ir::bit_width(scalar);
  const Id type = m_.word(bits), greatest = m_.integer(bits, static_cast<std::uint64_t>(bits - 1));
  const ir::Bounds amount = node->source(1)->bounds;
  const bool in_range = amount.min >= 0 && amount.max < bits;
  const Id is_defined = in_range ? spv::NoResult : test(spv::OpULessThanEqual, b, greatest);
  const Id safe = in_range ? b : choose(is_defined, b, greatest);
  if (node->is(Op::Shr) && ir::is_signed_int(scalar)) return op(spv::OpShiftRightArithmetic, type, a, safe);
  const Id result = op(node->is(Op::Shl) ? spv::OpShiftLeftLogical : spv::OpShiftRightLogical, type, a, safe);
  return in_range ? result : choose(is_defined, result, m_.integer(bits, 0));
}

// GLSL.std.450's Fma may round twice. The product of two f32 is exact in f64; the sum is rounded to odd there, so that
// rounding it to f32 is the one that counts (Boldo and Melquiond, 2008).
spv::Id Arithmetic::fma(Id type, Id a, Id b, Id c) {
  const Id f64 = m_.f64(), i64 = m_.word(64);
  if (type == f64) {
    m_.need("exact fma of f64");
    return a;
  }
  const auto add = [&](Id x, Id y) { return op(spv::OpFAdd, f64, x, y); };
  const auto sub = [&](Id x, Id y) { return op(spv::OpFSub, f64, x, y); };
  const Id product = op(spv::OpFMul, f64, op(spv::OpFConvert, f64, a), op(spv::OpFConvert, f64, b));
  const Id addend = op(spv::OpFConvert, f64, c);
  const Id sum = add(product, addend), part = sub(sum, product);
  const Id error = add(sub(product, sub(sum, part)), sub(addend, part));
  const Id zero = m_.real(f64, 0.0);
  const Id bits = op(spv::OpBitcast, i64, sum);
  const Id is_even = test(spv::OpIEqual, op(spv::OpBitwiseAnd, i64, bits, u64(1)), u64(0));
  const Id adjust = test(spv::OpLogicalAnd, is_even, test(spv::OpFOrdNotEqual, error, zero));
  const Id outward =
      test(spv::OpLogicalEqual, test(spv::OpFOrdGreaterThan, error, zero), test(spv::OpFOrdGreaterThan, sum, zero));
  const Id step = choose(outward, u64(1), u64(~std::uint64_t{0}));
  const Id odd = op(spv::OpIAdd, i64, bits, choose(adjust, step, u64(0)));
  return op(spv::OpFConvert, type, op(spv::OpBitcast, f64, odd));
}

}  // namespace hearth::codegen::spirv
