#include "client/cli/outputs.h"

#include "base/status_macros.h"
#include "client/onnx/results.h"

namespace hearth::cli {

absl::StatusOr<std::vector<client::Array>> read_outputs(const client::Instance& instance,
                                                        const onnx::ImportedModel& model) {
  std::vector<client::Array> outputs;
  for (const auto& [name, tensor] : model.outputs) {
    HEARTH_ASSIGN_OR_RETURN(const auto view, instance.output(name));
    outputs.push_back({view.dtype, view.shape, std::string(static_cast<const char*>(view.data), view.size_bytes)});
  }
  return outputs;
}

absl::StatusOr<std::vector<client::Array>> read_results(const client::Instance& instance,
                                                        const onnx::ImportedModel& model) {
  HEARTH_ASSIGN_OR_RETURN(std::vector<client::Array> outputs, read_outputs(instance, model));
  return onnx::cut_to_length(model, std::move(outputs));
}

}  // namespace hearth::cli
