// Matrix products.
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/einsum.h"
#include "client/ops/linear.h"
#include "client/ops/movement.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

void check_same_type(const Value& a, const Value& b) {
  if (a.dtype() != b.dtype()) {
    reject(str_cat("operands have types ", dtype_name(a.dtype()), " and ", dtype_name(b.dtype())));
  }
}

Values matmul(NodeContext& node) {
  check_same_type(node.input(0), node.input(1));
  return {Value(client::matmul(node.tensor(0), node.tensor(1)))};
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
  const Tensor a = transpose_a ? client::transpose(node.tensor(0)) : node.tensor(0);
  const Tensor b = transpose_b ? client::transpose(node.tensor(1)) : node.tensor(1);
  Tensor y = client::matmul(a, b);
  if (alpha != 1.0) y = y * alpha;
  if (node.has_input(2) && beta != 0.0) {
    check_same_type(node.input(0), node.input(2));
    const Tensor& c = node.tensor(2);
    const client::Shape shape = y.shape();
    if (!broadcasts && c.shape() != shape) reject("C has another shape than the product, and broadcast is 0");
    y = y + (beta == 1.0 ? c : c * beta);
    if (y.shape() != shape) reject("C is larger than the product");
  }
  return {Value(y)};
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
