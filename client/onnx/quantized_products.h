// What quantised operators of com.microsoft share: their scales, and products with bytes that quantise the other operand
// as it comes. Errors: JitError.
//
//   Tensor y = product_of_bytes(x, {w, w_scale, w_zero});
#pragma once
#include <cstddef>
#include <string_view>

#include "client/onnx/node_context.h"

namespace hearth::onnx {

// Input `index`, one number.
client::Tensor scalar_scale(NodeContext& node, std::size_t index, std::string_view what);
// The same for what is divided by: where it is known while importing it is a positive number.
client::Tensor divisor_scale(NodeContext& node, std::size_t index);
client::Tensor scalar_or_empty(NodeContext& node, std::size_t index);

struct QuantizedWeights {
  client::Tensor bytes;  // [K, N] i8 or u8
  client::Tensor scale;  // [] or [N]
  client::Tensor zero;   // likewise, or empty
};
// x [.., K] with the scale and zero point that fit all of it into u8, times the weights: [.., N] f32.
client::Tensor product_of_bytes(const client::Tensor& x, const QuantizedWeights& weights);

}  // namespace hearth::onnx
