// Lengths: a small integer tensor that is known while importing up to the variables of symbolic dimensions: what
// Shape gives and what is computed from it until Reshape, Expand, Slice or Range reads it. What is computed in floats on
// the way (sizes times a scale, rounded down) is a fraction of such a length. Value type. Errors: JitError.
//
//   Lengths shape = {DType::kI64, {2}, {n, Dim(64)}};
//   std::optional<Lengths> twice = lengths_binary(HostBinary::kMul, shape, shape);   // [n*n, 4096]
//   Lengths first = moved(shape, [](const HostTensor& x) { return host_view(x, {.shape = {1}, .strides = {1}}); });
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "client/onnx/host_math.h"
#include "hearth/dim.h"
#include "hearth/tensor.h"

namespace hearth::onnx {

struct Lengths {
  DType dtype = DType::kI64;
  Ints shape = {};
  client::Shape elements = {};  // row-major
  // A float is elements[i] / divisors[i], a number of the dtype. Empty for integers.
  Ints divisors = {};

  bool is_const() const { return client::is_const(elements); }
  bool fit() const;  // no value of the variables takes an element out of the dtype's range
};

// Integers and short binary fractions of at most kMaxLengths elements; nothing for anything else.
std::optional<Lengths> lengths_of(const HostTensor& x);
// The elements, where all are constants.
HostTensor host_of(const Lengths& x);
// One scalar computed at replay for every element.
client::Tensor tensor_of(const Lengths& x);

// `move` says where elements go: it gets a tensor of positions, which host_view, host_take and the like rearrange.
Lengths moved(const Lengths& x, const std::function<HostTensor(const HostTensor&)>& move);
Lengths lengths_cat(const std::vector<Lengths>& xs, std::int64_t axis);
Lengths lengths_where(const HostTensor& condition, const Lengths& a, const Lengths& b);
// Nothing where the result is no Dim: a comparison that depends on the variables, a quotient that may be negative, ….
std::optional<Lengths> lengths_binary(HostBinary op, const Lengths& a, const Lengths& b);
// As floats, where all are exact; floats as the integers below or above them. Nothing for what may be negative.
std::optional<Lengths> lengths_as_floats(const Lengths& x, DType dtype);
enum class Rounding { kDown, kUp };
std::optional<Lengths> lengths_rounded(const Lengths& x, Rounding rounding);
// Over all elements, as a scalar.
std::optional<Lengths> lengths_reduce(HostReduce op, const Lengths& x);

}  // namespace hearth::onnx
