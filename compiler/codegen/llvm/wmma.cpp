// Op::Wmma of Arithmetic: the instruction where the target has a good one, else multiply-adds on operands widened in
// place: the neighbours of a group lie in one 32-bit lane, from where shifts and masks bring each to the top or bottom.
#include "compiler/codegen/llvm/arithmetic.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace hearth::codegen {

using ir::DType;
using ir::Scalar;
using llvm::Intrinsic::ID;

namespace {

ID by_lanes(unsigned lanes, ID of_4, ID of_8, ID of_16) {
  return lanes == 4 ? of_4 : lanes == 8 ? of_8 : lanes == 16 ? of_16 : llvm::Intrinsic::not_intrinsic;
}
ID bf16_dot(unsigned lanes) {
  return by_lanes(lanes, llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128, llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                  llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512);
}
// Unsigned times signed bytes. Not the saturating form, whose sums would not wrap.
ID byte_dot(unsigned lanes) {
  return by_lanes(lanes, llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                  llvm::Intrinsic::x86_avx512_vpdpbusd_512);
}

}  // namespace

unsigned Arithmetic::lanes_of(Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

absl::StatusOr<llvm::Value*> Arithmetic::wmma(ir::UOpRef node, Value* a, Value* b, Value* sum) {
  const auto& info = node->as<ir::WmmaInfo>();
  const Scalar left = node->source(0)->dtype.scalar, right = node->source(1)->dtype.scalar;
  const int bits = ir::bit_width(left);
  if (info.m != 1 || info.k != info.group || info.group * bits != 32 ||
      ir::wmma_result(left, right) != node->dtype.scalar) {
    return absl::UnimplementedError("codegen: no code for a wmma of these sizes and dtypes");
  }
  // A group is one 32-bit lane; a's goes to all lanes.
  Type* i32 = shaped(b_.getInt32Ty(), sum->getType());
  a = b_.CreateBitCast(a, b_.getInt32Ty());
  if (info.n > 1) a = b_.CreateVectorSplat(info.n, a);
  b = b_.CreateBitCast(b, i32);
  return bits == 16 ? bf16_pairs(a, b, sum) : byte_groups(left, right, a, b, sum);
}

llvm::Value* Arithmetic::bf16_pairs(Value* a, Value* b, Value* sum) {
  const unsigned lanes = lanes_of(sum->getType());
  if (ID id = bf16_dot(lanes); lanes <= traits_.bf16_dot_lanes && id != llvm::Intrinsic::not_intrinsic) {
    Type* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), 2 * lanes);
    return b_.CreateIntrinsic(id, {}, {sum, b_.CreateBitCast(a, pairs), b_.CreateBitCast(b, pairs)});
  }
  Type *i32 = a->getType(), *f32 = sum->getType();
  auto first = [&](Value* v) { return b_.CreateBitCast(b_.CreateShl(v, integer(i32, 16)), f32); };
  auto second = [&](Value* v) { return b_.CreateBitCast(b_.CreateAnd(v, integer(i32, 0xffff0000u)), f32); };
  const DType dtype(Scalar::F32, static_cast<std::uint16_t>(lanes));
  for (Value* product :
       {flagged(b_.CreateFMul(first(a), first(b)), flags_), flagged(b_.CreateFMul(second(a), second(b)), flags_)}) {
    sum = combine(ir::ReduceKind::Sum, dtype, sum, product);
  }
  return sum;
}

llvm::Value* Arithmetic::byte_groups(Scalar left, Scalar right, Value* a, Value* b, Value* sum) {
  Type* i32 = a->getType();
  const unsigned lanes = lanes_of(sum->getType());
  const ID id = byte_dot(lanes);
  if (lanes > traits_.byte_dot_lanes || id == llvm::Intrinsic::not_intrinsic) {
    auto byte = [&](Value* v, Scalar scalar, unsigned position) {
      v = b_.CreateShl(v, integer(i32, 24 - 8 * position));
      Value* width = integer(i32, 24);
      return scalar == Scalar::I8 ? b_.CreateAShr(v, width) : b_.CreateLShr(v, width);
    };
    for (unsigned q = 0; q < 4; ++q) {
      Value* factor = byte(b, right, q);
      sum = b_.CreateAdd(sum, b_.CreateMul(byte(a, left, q), factor));
    }
    return sum;
  }
  auto dot = [&](Value* to, Value* u, Value* s) { return b_.CreateIntrinsic(id, {}, {to, u, s}); };
  if (left == Scalar::U8 && right == Scalar::I8) return dot(sum, a, b);
  if (left == Scalar::I8 && right == Scalar::U8) return dot(sum, b, a);
  // The top bit flipped, a signed byte is 128 more as an unsigned one, an unsigned byte 128 less as a signed one. What
  // 128 times the other operand adds is taken away again, or added: modulo 2^32, so exactly.
  Value *flip = integer(i32, 0x80808080u), *zero = llvm::Constant::getNullValue(i32);
  if (left == Scalar::I8) {
    Value* too_much = dot(zero, flip, b);
    return b_.CreateSub(dot(sum, b_.CreateXor(a, flip), b), too_much);
  }
  Value* half = dot(zero, a, integer(i32, 0x40404040u));  // 64 times a: 128 is no signed byte
  Value* too_much = b_.CreateShl(half, integer(i32, 1));
  return b_.CreateAdd(dot(sum, a, b_.CreateXor(b, flip)), too_much);
}

}  // namespace hearth::codegen
