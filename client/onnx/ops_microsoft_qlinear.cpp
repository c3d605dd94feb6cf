// Quantised operators of the domain com.microsoft, as ONNX Runtime's quantiser writes them: each computes in f32 on the
// numbers that its operands stand for and quantises the result, or multiplies bytes and scales the exact sums.
#include <cmath>

#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/operators.h"
#include "client/onnx/quantized_products.h"
#include "client/onnx/reject.h"
#include "client/onnx/windows.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/pool.h"
#include "hearth/ops/quantize.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

// The numbers of input `index`, whose scale and zero point follow it.
Tensor numbers(NodeContext& node, std::size_t index) {
  const Tensor zero = node.tensor_or_empty(index + 2);
  return client::dequantize_linear(node.tensor(index), scalar_scale(node, index + 1, "a scale"),
                                   zero.empty() ? zero : client::reshape(zero, {}));
}

// y by the scale and zero point that are inputs `scale` and the next one, of input 0's type where there is none.
Values quantized(NodeContext& node, const Tensor& y, std::size_t scale, std::size_t like = 0) {
  client::QuantizeConfig config;
  config.dtype = node.tensor(like).dtype();
  const Tensor zero = node.tensor_or_empty(scale + 1);
  return {Value(
      client::quantize_linear(y, divisor_scale(node, scale), zero.empty() ? zero : client::reshape(zero, {}), config))};
}

Values qlinear_add(NodeContext& node) { return quantized(node, numbers(node, 0) + numbers(node, 3), 6); }
Values qlinear_mul(NodeContext& node) { return quantized(node, numbers(node, 0) * numbers(node, 3), 6); }

Values qlinear_leaky_relu(NodeContext& node) {
  return quantized(node, client::leaky_relu(numbers(node, 0), node.real("alpha", 0.01)), 3);
}
Values qlinear_sigmoid(NodeContext& node) { return quantized(node, client::sigmoid(numbers(node, 0)), 3); }

constexpr std::int64_t kSoftmaxOfOneAxis = 13;  // first opset; before, all axes from the given one on are one

Values qlinear_softmax(NodeContext& node) {
  const Tensor x = numbers(node, 0);
  const std::int64_t axis = positive_axis(node.integer("axis", -1), x.rank());
  if (node.required_integer("opset") >= kSoftmaxOfOneAxis) return quantized(node, client::softmax(x, axis), 3);
  client::Shape rows = {client::Dim(1), client::Dim(-1)};
  for (std::int64_t i = 0; i < axis; ++i) rows[0] = rows[0] * x.dim(i);
  return quantized(node, client::reshape(client::softmax(client::reshape(x, rows), 1), x.shape()), 3);
}

// Channels last as channels first, and back.
Tensor with_axis_moved(const Tensor& x, bool to_front) {
  client::Axes order;
  for (std::int64_t i = 0; i < x.rank(); ++i) order.push_back(i);
  if (to_front) {
    order.erase(order.end() - 1);
    order.insert(order.begin() + 1, x.rank() - 1);
  } else {
    order.erase(order.begin() + 1);
    order.push_back(1);
  }
  return client::permute(x, order);
}

Values qlinear_average_pool(NodeContext& node) {
  const bool channels_last = node.integer("channels_last", 0) != 0;
  const Tensor given = numbers(node, 0), x = channels_last ? with_axis_moved(given, true) : given;
  client::PoolConfig config = read_pool(node, x.shape());
  config.count_include_pad = node.integer("count_include_pad", 0) != 0;
  const Tensor y = client::avg_pool(x, config);
  return quantized(node, channels_last ? with_axis_moved(y, false) : y, 3);
}

Values qlinear_global_average_pool(NodeContext& node) {
  const bool channels_last = node.integer("channels_last", 0) != 0;
  const Tensor given = numbers(node, 0), x = channels_last ? with_axis_moved(given, true) : given;
  check_spatial(x.shape());
  const Tensor y = client::global_avg_pool(x);
  return quantized(node, channels_last ? with_axis_moved(y, false) : y, 3);
}

Values qlinear_concat(NodeContext& node) {
  const std::int64_t axis = node.required_integer("axis");
  if (node.num_inputs() < 5 || (node.num_inputs() - 2) % 3 != 0)
    reject(str_cat("there are ", node.num_inputs(), " inputs; expected two and three for each operand"));
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i < node.num_inputs(); i += 3) parts.push_back(numbers(node, i));
  return quantized(node, client::cat(parts, axis), 0, 2);
}

// (A - zero) (B - zero) + C in i32, scaled, and quantised where a scale of the result is given.
Values qgemm(NodeContext& node) {
  const double alpha = node.real("alpha", 1);
  const auto operand = [&](std::size_t index, std::string_view transposed) {
    const Tensor& x = node.tensor(index);
    if (x.rank() != 2) reject(str_cat("input ", index, " has ", x.rank(), " axes; expected 2"));
    return node.integer(transposed, 0) != 0 ? client::transpose(x) : x;
  };
  Tensor sum = client::matmul_integer(operand(0, "transA"), operand(3, "transB"), scalar_or_empty(node, 2),
                                      node.tensor_or_empty(5));
  if (node.has_input(6)) sum = sum + node.tensor(6);
  const Tensor y = client::cast(sum, DType::kF32) * (scalar_scale(node, 1, "a_scale") * node.tensor(4) * alpha);
  return node.has_input(7) ? quantized(node, y, 7) : Values{Value(y)};
}

Values matmul_integer_to_float(NodeContext& node) {
  const Tensor sum =
      client::matmul_integer(node.tensor(0), node.tensor(1), node.tensor_or_empty(4), node.tensor_or_empty(5));
  const Tensor y = client::cast(sum, DType::kF32) * (node.wide(2) * node.wide(3));
  return {Value(node.rounded(node.has_input(6) ? y + node.wide(6) : y, 2))};
}

Values dynamic_quantize_matmul(NodeContext& node) {
  const Tensor y = product_of_bytes(node.tensor(0), {node.tensor(1), node.tensor(2), node.tensor_or_empty(3)});
  return {Value(node.has_input(4) ? y + node.tensor(4) : y)};
}

constexpr OperatorEntry kOperators[] = {
    {"QLinearAdd", qlinear_add},
    {"QLinearMul", qlinear_mul},
    {"QLinearLeakyRelu", qlinear_leaky_relu},
    {"QLinearSigmoid", qlinear_sigmoid},
    {"QLinearSoftmax", qlinear_softmax},
    {"QLinearAveragePool", qlinear_average_pool},
    {"QLinearGlobalAveragePool", qlinear_global_average_pool},
    {"QLinearConcat", qlinear_concat},
    {"QGemm", qgemm},
    {"MatMulIntegerToFloat", matmul_integer_to_float},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul},
};

}  // namespace

std::span<const OperatorEntry> microsoft_qlinear_operators() { return kOperators; }

}  // namespace hearth::onnx
