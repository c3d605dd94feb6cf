#include "client/onnx/results.h"

#include <cstring>
#include <utility>

#include "base/text.h"

namespace hearth::onnx {
namespace {

using client::Array;

// The first `length` positions along `axis`.
Array cut(const Array& array, std::size_t axis, std::int64_t length) {
  Array part{array.dtype, array.shape, ""};
  part.shape[axis] = length;
  std::size_t row = dtype_bytes(array.dtype);
  for (std::size_t i = axis + 1; i < array.shape.size(); ++i) row *= static_cast<std::size_t>(array.shape[i]);
  const std::size_t whole = row * static_cast<std::size_t>(array.shape[axis]);
  const std::size_t kept = row * static_cast<std::size_t>(length);
  if (whole == 0) return part;
  for (std::size_t at = 0; at < array.bytes.size(); at += whole) part.bytes.append(array.bytes, at, kept);
  return part;
}

}  // namespace

absl::StatusOr<std::vector<Array>> cut_to_length(const ImportedModel& model, std::vector<Array> outputs) {
  if (outputs.size() != model.outputs.size()) {
    return absl::DataLossError(str_cat(outputs.size(), " results, expected ", model.outputs.size()));
  }
  std::vector<Array> results;
  for (std::size_t i = 0; i < model.results.size(); ++i) {
    const ModelValue& result = model.results[i];
    Array& array = outputs[i];
    if (result.length_output.empty()) {
      results.push_back(std::move(array));
      continue;
    }
    std::int64_t length = -1;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (model.outputs[k].first != result.length_output || outputs[k].bytes.size() != sizeof(length)) continue;
      std::memcpy(&length, outputs[k].bytes.data(), sizeof(length));
    }
    const auto axis = static_cast<std::size_t>(result.length_axis);
    if (axis >= array.shape.size() || length < 0 || length > array.shape[axis]) {
      return absl::DataLossError(str_cat("result '", result.name, "' has no length within its bound (", length, ")"));
    }
    results.push_back(cut(array, axis, length));
  }
  return results;
}

}  // namespace hearth::onnx
