#include "client/onnx/quantized_products.h"

#include <cmath>

#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/quantize.h"

namespace hearth::onnx {

using client::Tensor;

client::Tensor scalar_scale(NodeContext& node, std::size_t index, std::string_view what) {
  const Tensor& scale = node.tensor(index);
  if (!(client::num_elements(scale.shape()) == client::Dim(1)))
    reject(str_cat(what, " (input ", index, ") has shape ", client::to_string(scale.shape()), "; expected one number"));
  return client::reshape(scale, {});
}

client::Tensor divisor_scale(NodeContext& node, std::size_t index) {
  const Value& given = node.input(index);
  if (given.is_host() && given.host().size() == 1) {
    const double scale = given.host().real(0);
    if (!(scale > 0) || std::isinf(scale))
      reject(str_cat("the result's scale (input ", index, ") is ", scale, "; expected a positive number"));
  }
  return scalar_scale(node, index, "the result's scale");
}

client::Tensor scalar_or_empty(NodeContext& node, std::size_t index) {
  return node.has_input(index) ? client::reshape(node.tensor(index), {}) : Tensor();
}

client::Tensor product_of_bytes(const client::Tensor& x, const QuantizedWeights& weights) {
  const client::Quantized q = client::dynamic_quantize_linear(client::cast(x, DType::kF32));
  const Tensor sum = client::matmul_integer(q.values, weights.bytes, q.zero_point, weights.zero);
  return client::cast(sum, DType::kF32) * (q.scale * client::cast(weights.scale, DType::kF32));
}

}  // namespace hearth::onnx
