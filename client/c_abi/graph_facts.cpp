// What a graph of the C ABI says of itself.
#include "base/status_macros.h"
#include "client/c_abi/handles.h"

using hearth::c_abi::check_given;
using hearth::c_abi::check_index;
using hearth::c_abi::check_struct;
using hearth::c_abi::guarded;
using hearth::onnx::ModelValue;

namespace {

std::vector<hearth_graph::Lengths> lengths_of(const std::vector<ModelValue>& values) {
  std::vector<hearth_graph::Lengths> all(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const hearth::client::Dim& length : values[i].shape) all[i].texts.push_back(length.to_string());
    for (const std::string& text : all[i].texts) all[i].pointers.push_back(text.c_str());
  }
  return all;
}

absl::Status describe(const std::vector<ModelValue>& values, const std::vector<hearth_graph::Lengths>& lengths,
                      std::size_t index, std::string_view what, hearth_graph_value* value) {
  HEARTH_RETURN_IF_ERROR(check_struct(value, "value", sizeof(hearth_graph_value)));
  HEARTH_RETURN_IF_ERROR(check_index(index, values.size(), what));
  const ModelValue& of = values[index];
  value->name = of.name.c_str();
  value->dtype = static_cast<hearth_dtype>(of.dtype);
  value->rank = lengths[index].pointers.size();
  value->lengths = lengths[index].pointers.data();
  value->length_output = of.length_output.empty() ? nullptr : of.length_output.c_str();
  value->length_axis = static_cast<size_t>(of.length_axis);
  return absl::OkStatus();
}

}  // namespace

hearth_graph::hearth_graph(hearth::onnx::ImportedModel imported)
    : model(std::move(imported)), inputs(lengths_of(model.inputs)), results(lengths_of(model.results)) {}

extern "C" {

int hearth_graph_opset(const hearth_graph* graph) { return graph == nullptr ? 0 : graph->model.opset; }
size_t hearth_graph_num_inputs(const hearth_graph* graph) { return graph == nullptr ? 0 : graph->inputs.size(); }
size_t hearth_graph_num_results(const hearth_graph* graph) { return graph == nullptr ? 0 : graph->results.size(); }

hearth_code hearth_graph_input(const hearth_graph* graph, size_t index, hearth_graph_value* value,
                               hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{graph, "graph"}}));
    return describe(graph->model.inputs, graph->inputs, index, "input", value);
  });
}

hearth_code hearth_graph_result(const hearth_graph* graph, size_t index, hearth_graph_value* value,
                                hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{graph, "graph"}}));
    return describe(graph->model.results, graph->results, index, "result", value);
  });
}

size_t hearth_graph_num_warnings(const hearth_graph* graph) {
  return graph == nullptr ? 0 : graph->model.warnings.size();
}
const char* hearth_graph_warning(const hearth_graph* graph, size_t index) {
  return index < hearth_graph_num_warnings(graph) ? graph->model.warnings[index].c_str() : nullptr;
}

hearth_code hearth_graph_weights(const hearth_graph* graph, hearth_weights_report* report, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{graph, "graph"}}));
    if (absl::Status checked = check_struct(report, "report", sizeof(hearth_weights_report)); !checked.ok())
      return checked;
    const hearth::onnx::WeightsReport& of = graph->model.weights;
    report->tensors = of.tensors;
    report->f32_bytes = of.f32_bytes;
    report->stored_bytes = of.stored_bytes;
    report->worst = of.worst.c_str();
    report->worst_error = of.worst_error;
    report->num_kept = of.kept.size();
    return absl::OkStatus();
  });
}

}  // extern "C"
