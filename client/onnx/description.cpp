#include "base/status_macros.h"
#include "base/text.h"
#include "client/onnx/cache_lengths.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "hearth/onnx_description.h"

namespace hearth::onnx {
namespace {

DescribedValue described(const SummaryValue& value) {
  DescribedValue made{value.name, value.type, value.has_shape, {}, value.has_default};
  for (const SummaryDim& dim : value.shape) made.shape.push_back({dim.length, dim.name});
  return made;
}

ModelDescription describe(const ModelFilePtr& model) {
  const ModelSummary summary = summarize(model);
  ModelDescription made;
  made.producer = summary.producer;
  made.opsets = summary.opsets;
  for (const SummaryValue& input : summary.inputs) made.inputs.push_back(described(input));
  for (const SummaryValue& output : summary.outputs) made.outputs.push_back(described(output));
  made.dims = summary.symbolic_dims;
  for (const Cache& cache : caches_of(summary)) {
    made.carried[cache.output] = cache.input;
    const std::string added = new_length_of(summary, cache);
    if (!added.empty()) made.sums[cache.total] = str_cat(cache.past, " + ", added);
  }
  for (const auto& [type, parameters] : summary.parameters) {
    made.parameters += parameters.count;
    made.parameter_bytes += parameters.bytes;
  }
  for (const SummaryOperator& one : summary.operators) {
    made.operators[one.name] = one.count;
    if (!one.missing.empty()) made.not_supported[one.name] = one.missing;
  }
  made.refused = summary.refused;
  return made;
}

}  // namespace

absl::StatusOr<ModelDescription> describe_model(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const ModelFilePtr model, read_model(path));
  return describe(model);
}

absl::StatusOr<ModelDescription> describe_model_bytes(std::string_view bytes, const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const ModelFilePtr model, parse_model(bytes, path));
  return describe(model);
}

}  // namespace hearth::onnx
