// The results of an imported model out of what its plan computed: without the lengths that stand as outputs of their
// own, and results whose length depends on the data cut to it. Thread-safe. Errors: DataLoss when an output is missing
// or a length is outside its result.
//
//   absl::StatusOr<std::vector<client::Array>> results = cut_to_length(model, outputs);
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"

namespace hearth::onnx {

// `outputs` in the order of ImportedModel::outputs; the results in the order of ImportedModel::results.
absl::StatusOr<std::vector<client::Array>> cut_to_length(const ImportedModel& model,
                                                         std::vector<client::Array> outputs);

}  // namespace hearth::onnx
