// Operators about shapes and constants; nearly always folded on the host.
#include <limits>

#include "base/text.h"
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/tensor.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Attribute = ::hearth_onnx::AttributeProto;

Values shape(NodeContext& node) {
  const client::Shape lengths = node.input(0).dims();
  const auto rank = static_cast<std::int64_t>(lengths.size());
  const auto bound = [rank](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const std::int64_t start = bound(node.integer("start", 0));
  const std::int64_t end = std::max(start, bound(node.integer("end", rank)));
  return {node.made(Lengths{DType::kI64, {end - start}, {lengths.begin() + start, lengths.begin() + end}})};
}

Values size(NodeContext& node) {
  return {node.made(Lengths{DType::kI64, {}, {client::num_elements(node.input(0).dims())}})};
}

Values identity(NodeContext& node) { return {node.input(0)}; }

HostTensor of_f32(Ints shape, const std::vector<float>& values) {
  return HostTensor(DType::kF32, std::move(shape),
                    std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

Values constant(NodeContext& node) {
  if (const Value value = node.tensor_attribute("value"); !value.empty()) return {value};
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
  const client::Shape to = node.known_lengths(0, "the shape").elements;
  HostTensor fill = of_f32({}, {0.0F});
  if (auto value = node.host_tensor("value")) fill = *value;
  if (fill.size() != 1) reject("attribute 'value' must hold one element");
  fill = fill.reshaped({});
  if (client::is_const(to)) {
    const Ints shape = client::const_shape(to);
    if (fits(shape, fill.dtype())) return {node.made(host_expand(fill, shape))};
  }
  if (!is_float(fill.dtype())) return {Value(client::full_i64(to, fill.integer(0), fill.dtype()))};
  return {Value(client::full(to, fill.real(0), fill.dtype()))};
}

// start, start + delta, … for lengths: as many as fit below limit.
Value symbolic_range(const Lengths& start, const Lengths& limit, const Lengths& delta) {
  for (const Lengths* x : {&start, &limit, &delta}) {
    if (x->elements.size() != 1 || x->dtype != start.dtype)
      reject("start, limit and delta must be scalars of one type");
  }
  const client::Dim& step = delta.elements[0];
  if (!step.is_const()) reject_unsupported(str_cat("delta ", step.to_string(), " with a symbolic range"));
  if (step.value() == 0) reject("delta is 0");
  const bool is_up = step.value() > 0;
  const client::Dim span = is_up ? limit.elements[0] - start.elements[0] : start.elements[0] - limit.elements[0];
  const std::int64_t stride = std::abs(step.value());
  const client::Tensor counted = client::arange(max(0, (span + (stride - 1)) / stride), start.dtype);
  return Value(counted * step.value() + client::dim_value(start.elements[0], start.dtype));
}

constexpr int kStashType = 27;  // first opset of Range's stash_type

Values range(NodeContext& node) {
  if (node.opset() >= kStashType) {
    const std::int64_t stash = node.integer("stash_type", 1);  // of f16 and bf16 alone
    const DType dtype = node.input(0).dtype();
    if (stash != 1 && is_float(dtype) && dtype_bytes(dtype) == 2) reject_unsupported(str_cat("stash_type ", stash));
  }
  if (node.input(0).is_lengths() || node.input(1).is_lengths() || node.input(2).is_lengths()) {
    return {
        symbolic_range(node.known_lengths(0, "start"), node.known_lengths(1, "limit"), node.known_lengths(2, "delta"))};
  }
  return {node.made(host_range(node.known(0, "start"), node.known(1, "limit"), node.known(2, "delta")))};
}

constexpr OperatorEntry kOperators[] = {
    {"Shape", shape},       {"Size", size},       {"Identity", identity, 1, kCommonOpset, BoundedInputs::kHandled},
    {"Constant", constant}, {"Range", range, 11}, {"ConstantOfShape", constant_of_shape, 9},
};

}  // namespace

std::span<const OperatorEntry> shape_operators() { return kOperators; }

}  // namespace hearth::onnx
