#include <algorithm>

#include "hearth/onnx.h"

namespace hearth::onnx {
namespace {

std::vector<std::string> length_texts(const client::Shape& shape) {
  std::vector<std::string> all;
  for (const client::Dim& length : shape) all.push_back(length.to_string());
  return all;
}

}  // namespace

client::CallSignature call_signature(const ImportedModel& model) {
  client::CallSignature call;
  for (const std::string& name : model.input_order) {
    const auto is_it = [&](const auto& one) { return one.name == name; };
    const auto fixed = std::find_if(model.fixed_inputs.begin(), model.fixed_inputs.end(), is_it);
    const auto input = std::find_if(model.inputs.begin(), model.inputs.end(), is_it);
    if (fixed != model.fixed_inputs.end()) {
      call.inputs.push_back({name, fixed->dtype, {}, 0, length_texts({fixed->shape.begin(), fixed->shape.end()})});
    } else if (input != model.inputs.end()) {
      call.inputs.push_back({name, input->dtype, {}, 0, length_texts(input->shape), input->stored});
    }
  }
  for (const ModelValue& result : model.results)
    call.results.push_back({result.name, result.length_output, result.length_axis, result.stored});
  return call;
}

}  // namespace hearth::onnx
