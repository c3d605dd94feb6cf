// Operators that write by index, gather by coordinates, or sort.
#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/kv_cache.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/scatter.h"
#include "hearth/ops/sort.h"

namespace hearth::onnx {
namespace {

using client::ScatterReduction;
using client::Tensor;

// An attribute since opset 16, max and min since 18.
ScatterReduction reduction(NodeContext& node) {
  if (node.opset() < 16) return ScatterReduction::kNone;
  const std::string name = node.text("reduction", "none");
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMultiply;
  if (name == "max" && node.opset() >= 18) return ScatterReduction::kMaximum;
  if (name == "min" && node.opset() >= 18) return ScatterReduction::kMinimum;
  reject(str_cat("reduction '", name, "' is none of this opset's"));
}

Values scatter_elements(NodeContext& node) {
  const std::int64_t axis = positive_axis(node.integer("axis", 0), node.input(0).rank());
  return {Value(client::scatter_elements(node.tensor(0), node.tensor(1), node.tensor(2), axis, reduction(node)))};
}

Values scatter_nd(NodeContext& node) {
  return {Value(client::scatter_nd(node.tensor(0), node.tensor(1), node.tensor(2), reduction(node)))};
}

Values gather_nd(NodeContext& node) {
  const std::int64_t batch_axes = node.opset() < 12 ? 0 : node.integer("batch_dims", 0);
  return {Value(client::gather_nd(node.tensor(0), node.tensor(1), batch_axes))};
}

constexpr int kCountInput = 10;  // first opset with k as an input

// Always sorted, which `sorted = 0` allows too.
Values topk(NodeContext& node) {
  const std::int64_t axis = positive_axis(node.integer("axis", -1), node.input(0).rank());
  node.expect_no_input(1, "k", kCountInput);
  std::int64_t k = 0;
  if (node.opset() < kCountInput) {
    k = node.required_integer("k");
  } else {
    const HostTensor& given = node.known(1, "k");
    if (given.size() != 1) reject("k must be one number");
    k = given.integer(0);
  }
  const bool largest = node.opset() < 11 || node.integer("largest", 1) != 0;
  if (node.opset() >= 11) node.integer("sorted", 1);
  const client::TopK found = client::topk(node.tensor(0), k, axis, largest);
  return {Value(found.values), Value(found.indices)};
}

Values tensor_scatter(NodeContext& node) {
  const Tensor &cache = node.tensor(0), &update = node.tensor(1);
  const std::string mode = node.text("mode", "linear");
  if (mode != "linear" && mode != "circular") reject(str_cat("mode is '", mode, "'; expected linear or circular"));
  std::int64_t axis = node.integer("axis", -2);
  if (axis < -cache.rank() || axis >= cache.rank()) reject(str_cat("axis is ", axis, " for ", cache.rank(), " axes"));
  if (axis < 0) axis += cache.rank();
  if (axis == 0) reject("axis 0 is the batch's");
  const Tensor at = node.has_input(2) ? node.tensor(2) : client::full_i64({cache.dim(0)}, 0, DType::kI64);
  return {Value(written(cache, update, at, axis, mode == "circular"))};
}

constexpr OperatorEntry kOperators[] = {
    {"Scatter", scatter_elements, 9, 10}, {"ScatterElements", scatter_elements, 11}, {"ScatterND", scatter_nd, 11},
    {"GatherND", gather_nd, 11},          {"TensorScatter", tensor_scatter, 24},     {"TopK", topk},
};

}  // namespace

std::span<const OperatorEntry> scatter_operators() { return kOperators; }

}  // namespace hearth::onnx
