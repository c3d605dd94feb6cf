// What a replay of an imported model left in its outputs, as arrays of this process. Errors: status naming the output.
//
//   absl::StatusOr<std::vector<client::Array>> results = read_results(instance, model.imported);
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/array.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace hearth::cli {

// Every output of the plan, in the order of ImportedModel::outputs.
absl::StatusOr<std::vector<client::Array>> read_outputs(const client::Instance& instance,
                                                        const onnx::ImportedModel& model);
// In the order of ImportedModel::results, those whose length depends on the data cut to it.
absl::StatusOr<std::vector<client::Array>> read_results(const client::Instance& instance,
                                                        const onnx::ImportedModel& model);

}  // namespace hearth::cli
