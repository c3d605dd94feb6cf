// Matrix products.
#include "base/text.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/einsum.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

void check_same_type(const Value& a, const Value& b) {
  if (a.dtype() != b.dtype()) {
    reject(str_cat("operands have types ", dtype_name(a.dtype()), " and ", dtype_name(b.dtype())));
  }
}

// Times one number for each index along the axis that is the `from_last`-th from the end.
Tensor scaled(const Tensor& y, const Tensor& scale, std::int64_t from_last) {
  if (scale.empty()) return y;
  return y * (from_last == 1 ? scale : client::unsqueeze(scale, {1}));
}

Values matmul(NodeContext& node) {
  check_same_type(node.input(0), node.input(1));
  const std::int64_t a_rank = node.input(0).rank(), b_rank = node.input(1).rank();
  const StoredWeight a = node.weight(0, a_rank - 2), b = node.weight(1, b_rank - 1);
  const bool is_scaled = !a.scale.empty() || !b.scale.empty();
  const Tensor y =
      is_scaled ? client::matmul(widened(a.tensor), widened(b.tensor)) : client::matmul(a.tensor, b.tensor);
  return {Value(node.rounded(scaled(scaled(y, b.scale, 1), a.scale, b_rank == 1 ? 1 : 2)))};
}

// alpha * A' B' + beta * C
Values gemm(NodeContext& node) {
  const double alpha = node.real("alpha", 1.0);
  const double beta = node.real("beta", 1.0);
  const bool transpose_a = node.integer("transA", 0) != 0;
  const bool transpose_b = node.integer("transB", 0) != 0;
  const bool broadcasts = node.opset() >= 7 || node.integer("broadcast", 0) != 0;
  check_same_type(node.input(0), node.input(1));
  if (node.input(0).rank() != 2 || node.input(1).rank() != 2) reject("A and B must be matrices");
  const StoredWeight a = node.weight(0, transpose_a ? 1 : 0), b = node.weight(1, transpose_b ? 0 : 1);
  Tensor y = client::matmul(widened(transpose_a ? client::transpose(a.tensor) : a.tensor),
                            widened(transpose_b ? client::transpose(b.tensor) : b.tensor));
  y = scaled(scaled(y, b.scale, 1), a.scale, 2);
  // Integers that alpha or beta scales: in f64, which has more of their digits than f32.
  const auto times = [](const Tensor& x, double factor) {
    return (is_integer(x.dtype()) ? client::cast(x, DType::kF64) : x) * factor;
  };
  if (alpha != 1.0) y = times(y, alpha);
  if (node.has_input(2) && beta != 0.0) {
    check_same_type(node.input(0), node.input(2));
    const Tensor c = node.wide(2);
    const client::Shape shape = y.shape();
    if (!broadcasts && c.shape() != shape) reject("C has another shape than the product, and broadcast is 0");
    y = y + (beta == 1.0 ? c : times(c, beta));
    if (y.shape() != shape) reject("C is larger than the product");
  }
  return {Value(node.rounded(y))};
}

Values einsum(NodeContext& node) {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    check_same_type(node.input(0), node.input(i));
    operands.push_back(node.tensor(i));
  }
  return {Value(client::einsum(node.text("equation", ""), operands))};
}

Values det(NodeContext& node) { return {Value(client::determinant(node.tensor(0)))}; }

constexpr OperatorEntry kOperators[] = {{"MatMul", matmul}, {"Gemm", gemm}, {"Einsum", einsum, 12}, {"Det", det, 11}};

}  // namespace

std::span<const OperatorEntry> linear_operators() { return kOperators; }

}  // namespace hearth::onnx
