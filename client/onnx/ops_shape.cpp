// Operators about shapes and constants; nearly always folded on the host.
#include <limits>

#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/tensor.h"
#include "onnx/onnx.pb.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using Attribute = ::onnx::AttributeProto;

Values shape(NodeContext& node) {
  const Ints lengths = node.input(0).shape();
  const auto rank = static_cast<std::int64_t>(lengths.size());
  const auto bound = [rank](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const std::int64_t start = bound(node.integer("start", 0));
  const std::int64_t end = std::max(start, bound(node.integer("end", rank)));
  return {node.made(HostTensor::of_i64({end - start}, Ints(lengths.begin() + start, lengths.begin() + end)))};
}

Values size(NodeContext& node) { return {node.made(HostTensor::of_i64({}, {count(node.input(0).shape())}))}; }

Values identity(NodeContext& node) { return {node.input(0)}; }

HostTensor of_f32(Ints shape, const std::vector<float>& values) {
  return HostTensor(DType::kF32, std::move(shape),
                    std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

Values constant(NodeContext& node) {
  if (auto value = node.host_tensor("value")) return {node.made(*value)};
  if (node.has("value_int")) return {node.made(HostTensor::of_i64({}, {node.integer("value_int", 0)}))};
  if (node.has("value_float")) return {node.made(of_f32({}, {static_cast<float>(node.real("value_float", 0))}))};
  if (auto ints = node.integers("value_ints")) {
    return {node.made(HostTensor::of_i64({static_cast<std::int64_t>(ints->size())}, *ints))};
  }
  if (const Attribute* floats = node.attribute("value_floats", Attribute::FLOATS)) {
    return {node.made(of_f32({floats->floats_size()}, {floats->floats().begin(), floats->floats().end()}))};
  }
  reject_unsupported("a constant without a dense numeric value");
}

Values constant_of_shape(NodeContext& node) {
  const Ints shape = node.known_integers(0, "the shape");
  HostTensor fill = of_f32({}, {0.0F});
  if (auto value = node.host_tensor("value")) fill = *value;
  if (fill.size() != 1) reject("attribute 'value' must hold one element");
  fill = fill.reshaped({});
  if (fits(shape, fill.dtype())) return {node.made(host_expand(fill, shape))};
  if (!is_float(fill.dtype()))
    return {Value(client::full_i64({shape.begin(), shape.end()}, fill.integer(0), fill.dtype()))};
  return {Value(client::full({shape.begin(), shape.end()}, fill.real(0), fill.dtype()))};
}

Values range(NodeContext& node) {
  return {node.made(host_range(node.known(0, "start"), node.known(1, "limit"), node.known(2, "delta")))};
}

// Positions of non-zero elements: only of values known while importing, since its shape depends on them.
Values non_zero(NodeContext& node) {
  const HostTensor& x = node.known(0, "the input");
  if (!can_fold(x)) reject_unsupported("NonZero of a constant of this size");
  const Ints strides = row_major_strides(x.shape());
  Ints hits;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (x.real(i) != 0) hits.push_back(i);
  }
  Ints positions;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    for (std::int64_t i : hits) positions.push_back(i / strides[axis] % x.shape()[axis]);
  }
  return {node.made(HostTensor::of_i64({x.rank(), static_cast<std::int64_t>(hits.size())}, positions))};
}

Values dropout(NodeContext& node) {
  node.integer("seed", 0);
  if (node.opset() < 12) node.real("ratio", 0.5);
  if (node.opset() < 10 && node.wants_output(1)) reject_unsupported("a mask of the input's type");
  if (node.has_input(2) && node.known(2, "training_mode").integer(0) != 0) reject_unsupported("training_mode");
  Values outputs = {node.input(0)};
  if (node.wants_output(1)) {
    const Ints shape = node.input(0).shape();
    outputs.emplace_back(client::full_i64({shape.begin(), shape.end()}, 1, DType::kBool));
  }
  return outputs;
}

constexpr OperatorEntry kOperators[] = {
    {"Shape", shape},         {"Size", size},          {"Identity", identity},
    {"Constant", constant},   {"Range", range, 11},    {"ConstantOfShape", constant_of_shape, 9},
    {"NonZero", non_zero, 9}, {"Dropout", dropout, 7},
};

}  // namespace

std::span<const OperatorEntry> shape_operators() { return kOperators; }

}  // namespace hearth::onnx
