#include "client/onnx/value_parts.h"

#include "base/text.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {

Value integers(const Ints& values) {
  return Value::host(HostTensor::of_i64({static_cast<std::int64_t>(values.size())}, values));
}

std::int64_t constant_length(const Value& x, std::int64_t axis) {
  const client::Dim length = x.dims()[static_cast<std::size_t>(positive_axis(axis, x.rank()))];
  if (!length.is_const()) reject_unsupported(str_cat("the symbolic length ", length.to_string(), " of axis ", axis));
  return length.value();
}

Value stacked(const NodeContext& node, const Values& parts, std::int64_t axis) {
  Values lifted;
  for (const Value& part : parts) lifted.push_back(node.apply("Unsqueeze", {part, integers({axis})})[0]);
  return node.apply("Concat", lifted, {{"axis", axis}})[0];
}

Value element_at(const NodeContext& node, const Value& x, std::int64_t axis, std::int64_t index) {
  return node.apply("Gather", {x, Value::host(HostTensor::of_i64({}, {index}))}, {{"axis", axis}})[0];
}

}  // namespace hearth::onnx
