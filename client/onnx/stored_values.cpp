#include "client/onnx/stored_values.h"

#include <algorithm>

#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

constexpr std::int64_t kMaxKnownElements = 4096;

constexpr std::string_view kMovers[] = {
    "Concat",  "Expand", "Flatten", "Gather",  "GatherElements", "GatherND",  "Pad",
    "Reshape", "Slice",  "Split",   "Squeeze", "Tile",           "Transpose", "Unsqueeze",
};

}  // namespace

Value value_of(const ::hearth_onnx::TensorProto& tensor, const ModelFilePtr& model, ImportScope& scope) {
  if (tensor.data_type() == ::hearth_onnx::TensorProto::STRING) return Value::of_text(to_text(tensor));
  const StorageType* const type = storage_type(tensor.data_type());
  if (type == nullptr) return Value::host(to_host_tensor(tensor, model));
  const Ints shape(tensor.dims().begin(), tensor.dims().end());
  if (count(shape) <= kMaxKnownElements) return Value::stored(Value::host(to_host_codes(tensor, model)), *type);
  const Value packed = Value::host(to_packed_codes(tensor, model), scope.unique_name(tensor.name()));
  const client::Shape lengths(shape.begin(), shape.end());
  return Value::stored(Value(unpacked(packed.tensor(), lengths, *type)), *type);
}

const StorageType* take_codes(std::string_view domain, std::string_view name, Values& inputs) {
  const StorageType* type = nullptr;
  if (!domain.empty() || std::ranges::find(kMovers, name) == std::end(kMovers)) return type;
  for (Value& input : inputs) {
    if (!input.is_stored()) continue;
    if (type != nullptr && type != &input.storage())
      reject(str_cat("operands are of ", type->name, " and ", input.storage().name));
    type = &input.storage();
    input = input.codes();
  }
  return type;
}

}  // namespace hearth::onnx
