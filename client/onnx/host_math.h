// Arithmetic on host tensors: what shape subgraphs need. Broadcasting as numpy; integers wrap, integer division
// truncates towards zero; f32 and f64 are computed in f64 and rounded once.
// `can_fold` says whether operands may be folded here; otherwise the operator is recorded as a tensor op.
//
//   if (can_fold({a, b})) return host_binary(HostBinary::kAdd, a, b);
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include "client/onnx/host_tensor.h"

namespace hearth::onnx {

enum class HostBinary {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorMod,
  kTruncMod,
  kMin,
  kMax,
  kPow,
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,  // give bool, like the next three for bool operands
  kAnd,
  kOr,
  kXor,
};
enum class HostUnary { kNeg, kAbs, kNot, kFloor, kCeil, kSqrt, kSign };
enum class HostReduce { kSum, kProd, kMax, kMin };

bool can_fold(const HostTensor& x);
bool can_fold(const HostTensor& x, HostUnary op);
// For host_binary and host_where. JitError where the shapes do not broadcast.
bool can_fold(std::initializer_list<const HostTensor*> operands);
// Operands of equal dtype.
HostTensor host_binary(HostBinary op, const HostTensor& a, const HostTensor& b);
HostTensor host_unary(HostUnary op, const HostTensor& x);
HostTensor host_cast(const HostTensor& x, DType dtype);
HostTensor host_where(const HostTensor& condition, const HostTensor& a, const HostTensor& b);
HostTensor host_expand(const HostTensor& x, const Ints& shape);
HostTensor host_reduce(HostReduce op, const HostTensor& x, const Ints& axes, bool keepdims);
// start, start + delta, … below (or above) limit; scalars of one dtype.
HostTensor host_range(const HostTensor& start, const HostTensor& limit, const HostTensor& delta);

}  // namespace hearth::onnx
