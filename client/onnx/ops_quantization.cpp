// Quantised values and products of them.
#include <cmath>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/quantized_blocks.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "client/onnx/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/quantize.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

constexpr int kQuantizationAxis = 13;  // first opset; one scale a tensor before

std::int64_t quantization_axis(NodeContext& node) {
  if (node.opset() >= kQuantizationAxis) return node.integer("axis", 1);
  if (count(node.input(1).shape()) != 1) reject("more than one scale; opsets before 13 have one a tensor");
  return 0;
}

constexpr int kBlocks = 21;  // first opset with a scale for each block along an axis

// What a quantised value is made of: an integer type or a float of eight bits, or one that is only stored.
struct QuantizedType {
  DType dtype = DType::kU8;  // of a stored one: what its numbers are computed in
  const StorageType* stored = nullptr;
  double least = 0, greatest = 0;  // of integers
};

QuantizedType quantized_type(std::int64_t elem_type) {
  QuantizedType type;
  type.stored = storage_type(elem_type);
  const bool is_stored_float = type.stored != nullptr && type.stored->kind != StorageType::Kind::kSigned &&
                               type.stored->kind != StorageType::Kind::kUnsigned;
  const bool is_signed_code = type.stored != nullptr && type.stored->kind == StorageType::Kind::kSigned;
  type.dtype = is_stored_float ? DType::kF32 : is_signed_code ? DType::kI8 : dtype_of_elements(elem_type);
  const int bits = type.stored != nullptr ? type.stored->bits : static_cast<int>(8 * dtype_bytes(type.dtype));
  type.least = is_signed(type.dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  type.greatest = std::ldexp(1.0, is_signed(type.dtype) ? bits - 1 : bits) - 1;
  return type;
}

QuantizedType quantized_type(NodeContext& node) {
  const std::int64_t named = node.opset() < kBlocks ? 0 : node.integer("output_dtype", 0);
  std::int64_t elem_type = named == 0 ? onnx_from_dtype(DType::kU8) : named;
  if (node.has_input(2)) {
    const Value& zero = node.input(2);
    elem_type = zero.is_stored() ? zero.storage().elem_type : onnx_from_dtype(zero.dtype());
  }
  return quantized_type(elem_type);
}

// Numbers to compute with.
Tensor numbers_of(const Value& x) { return x.is_stored() ? decoded(x.codes().tensor(), x.storage()) : x.tensor(); }

// A scale or zero point of each of x's elements, or one that broadcasts.
Tensor spread(const Tensor& scale, std::int64_t block, std::int64_t axis, const Tensor& x) {
  if (block != 0) return of_elements(scale, block, positive_axis(axis, x.rank()), x);
  if (scale.rank() == 0 || client::num_elements(scale.shape()) == client::Dim(1)) return client::reshape(scale, {});
  client::Shape shape(x.shape().size(), client::Dim(1));
  shape[static_cast<std::size_t>(positive_axis(axis, x.rank()))] = scale.dim(0);
  if (scale.rank() != 1) reject(str_cat("scales of ", scale.rank(), " axes; expected one along the axis, or blocks"));
  return client::reshape(scale, shape);
}

struct Quantization {
  std::int64_t block = 0, axis = 1;
  bool saturate = true;
};

// round(x / scale) + zero point in f32, in the type's range.
Value quantized(NodeContext& node, const QuantizedType& type, const Quantization& how) {
  const Tensor& x = node.tensor(0);
  const auto part = [&](std::size_t index) {
    return client::cast(spread(numbers_of(node.input(index)), how.block, how.axis, x), DType::kF32);
  };
  const Tensor ratio = client::cast(x, DType::kF32) / part(1);
  if (!is_integer(type.dtype)) {
    if (type.stored == nullptr) reject_unsupported(str_cat("blocks of ", dtype_name(type.dtype)));
    const Tensor y = node.has_input(2) ? ratio + part(2) : ratio;
    return Value::stored(Value(encoded(y, *type.stored, {.saturate = how.saturate})), *type.stored);
  }
  Tensor y = client::round(ratio);
  if (node.has_input(2)) y = y + part(2);
  y = client::cast(client::minimum(client::maximum(y, type.least), type.greatest), type.dtype);
  return type.stored == nullptr ? Value(y) : Value::stored(Value(encoded(y, *type.stored)), *type.stored);
}

Values quantize_linear(NodeContext& node) {
  Quantization how;
  how.axis = quantization_axis(node);
  how.saturate = node.opset() < 19 || node.integer("saturate", 1) != 0;
  const QuantizedType type = quantized_type(node);
  const std::int64_t precision = node.opset() < 23 ? 0 : node.integer("precision", 0);
  if (precision != 0 && precision != 1) reject_unsupported(str_cat("precision ", precision));
  how.block = node.opset() < kBlocks ? 0 : node.integer("block_size", 0);
  if (how.block != 0 || type.stored != nullptr) return {quantized(node, type, how)};
  client::QuantizeConfig config;
  config.axis = how.axis;
  config.saturate = how.saturate;
  config.dtype = type.dtype;
  return {Value(client::quantize_linear(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), config))};
}

Values dequantize_linear(NodeContext& node) {
  const std::int64_t axis = quantization_axis(node);
  const std::int64_t type = node.opset() < 23 ? 0 : node.integer("output_dtype", 0);
  const DType dtype = type == 0 ? node.input(1).dtype() : dtype_from_onnx(type);
  const std::int64_t block = node.opset() < kBlocks ? 0 : node.integer("block_size", 0);
  if (block == 0 && !node.input(0).is_stored()) {
    const Tensor y = client::dequantize_linear(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), axis);
    return {Value(client::cast(y, dtype))};
  }
  const Tensor x = numbers_of(node.input(0));
  const DType difference = is_integer(x.dtype()) ? DType::kI32 : DType::kF32;  // exact
  Tensor y = client::cast(x, difference);
  if (node.has_input(2)) y = y - client::cast(spread(numbers_of(node.input(2)), block, axis, x), difference);
  y = client::cast(y, DType::kF32) * client::cast(spread(node.tensor(1), block, axis, x), DType::kF32);
  return {Value(client::cast(y, dtype))};
}

Values dynamic_quantize_linear(NodeContext& node) {
  const client::Quantized result = client::dynamic_quantize_linear(node.tensor(0));
  return {Value(result.values), Value(result.scale), Value(result.zero_point)};
}

Values matmul_integer(NodeContext& node) {
  return {
      Value(client::matmul_integer(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), node.tensor_or_empty(3)))};
}

Values conv_integer(NodeContext& node) {
  return {Value(client::conv_integer(node.tensor(0), node.tensor(1), node.tensor_or_empty(2), node.tensor_or_empty(3),
                                     read_conv(node, 1)))};
}

// The sum of products in i32, a real number by its scales, quantised again.
Tensor requantized(const NodeContext& node, const Tensor& sum, const Tensor& scales) {
  return client::quantize_linear(client::cast(sum, DType::kF32) * scales, node.tensor(6), node.tensor(7));
}

// One number, or one an axis of [.., m, n] (of a's rows or b's columns), ready to broadcast against the product.
Tensor product_scale(const Value& scale, bool rows) {
  const Ints shape = scale.shape();
  if (count(shape) == 1) return client::reshape(scale.tensor(), {});
  return rows && shape.size() == 1 ? client::unsqueeze(scale.tensor(), {1}) : scale.tensor();
}

Values qlinear_matmul(NodeContext& node) {
  const Tensor sum = client::matmul_integer(node.tensor(0), node.tensor(3), node.tensor(2), node.tensor(5));
  const Tensor scales = widened(product_scale(node.input(1), true)) * widened(product_scale(node.input(4), false));
  return {Value(requantized(node, sum, scales))};
}

Values qlinear_conv(NodeContext& node) {
  const Tensor bias = node.tensor_or_empty(8);
  Tensor sum = client::conv_integer(node.tensor(0), node.tensor(3), node.tensor(2), node.tensor(5), read_conv(node, 3));
  const auto channels = [&](const Tensor& vector) {
    client::Shape shape(sum.shape().size(), client::Dim(1));
    shape[1] = sum.dim(1);
    return client::reshape(vector, shape);
  };
  if (count(node.input(1).shape()) != 1) reject("x_scale must be one number");
  if (!bias.empty()) sum = sum + channels(bias);
  const Tensor weight_scale =
      count(node.input(4).shape()) == 1 ? client::reshape(node.tensor(4), {}) : channels(node.tensor(4));
  return {Value(requantized(node, sum, widened(client::reshape(node.tensor(1), {})) * widened(weight_scale)))};
}

constexpr OperatorEntry kOperators[] = {
    {"QuantizeLinear", quantize_linear, 10, 28},
    {"DequantizeLinear", dequantize_linear, 10, 28},
    {"DynamicQuantizeLinear", dynamic_quantize_linear, 11},
    {"MatMulInteger", matmul_integer, 10},
    {"ConvInteger", conv_integer, 10},
    {"QLinearMatMul", qlinear_matmul, 10},
    {"QLinearConv", qlinear_conv, 10},
};

}  // namespace

std::span<const OperatorEntry> quantization_operators() { return kOperators; }

}  // namespace hearth::onnx
