// What a recorded tensor is, where neither an input nor a variable decides it: shapes and axes that a model computes by
// whatever operators. The reference interpreter computes them (compiler/codegen/reference). Thread-safe.
//
//   if (std::optional<HostTensor> value = constant_value(tensor)) return value->integers();
#pragma once
#include <optional>

#include "client/onnx/host_tensor.h"
#include "hearth/tensor.h"

namespace hearth::onnx {

// Nothing where the tensor depends on an input or on a variable, or is too much to compute while importing: more than
// kMaxConstantWork elements and products in all.
inline constexpr std::int64_t kMaxConstantWork = std::int64_t{1} << 22;
std::optional<HostTensor> constant_value(const client::Tensor& tensor);

// Whether no input and no variable decides the tensor, however much there is to compute.
bool is_constant(const client::Tensor& tensor);

}  // namespace hearth::onnx
