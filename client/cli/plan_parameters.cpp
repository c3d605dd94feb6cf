#include "client/cli/plan_parameters.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/load_model.h"
#include "client/cli/print.h"
#include "client/files/plan_file_contents.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "client/trace/encoded_graph.h"
#include "hearth/safetensors.h"

namespace hearth::cli {
namespace {

using Parameters = std::map<std::string, client::ParameterData>;

// Begins with the length of a JSON object, and that object.
bool is_safetensors(const std::string& path) {
  char start[9] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return start[8] == '{';
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 3;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMax)));
  std::string text = str_cat("'", absl::StrJoin(first, "', '"), "'");
  if (names.size() > kMax) str_append(&text, " and ", names.size() - kMax, " more");
  return text;
}

absl::StatusOr<Parameters> of_safetensors(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(auto file, client::Safetensors::open(path));
  const auto kept = std::make_shared<const client::Safetensors>(std::move(file));  // keeps the mapping
  Parameters parameters;
  for (const auto& [name, view] : kept->tensors()) parameters[name] = {view.data, view.size_bytes, kept};
  return parameters;
}

// The lengths of the model's dimensions as the plan has them; those of inputs that the plan does not read are missing.
absl::Status add_dims(const onnx::ModelSummary& summary, const v1::Plan& plan,
                      std::map<std::string, onnx::DimRange>* dims) {
  for (const onnx::SummaryValue& input : summary.inputs) {
    for (const v1::PlanBuffer& buffer : plan.buffers()) {
      if (buffer.kind() != v1::PlanBuffer::INPUT || buffer.name() != input.name) continue;
      HEARTH_ASSIGN_OR_RETURN(const client::Shape shape, shape_of(buffer, plan));
      for (std::size_t axis = 0; axis < std::min(shape.size(), input.shape.size()); ++axis) {
        if (input.shape[axis].length >= 0) continue;
        dims->emplace(input.shape[axis].name, onnx::DimRange(shape[axis].min(), shape[axis].max()));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Parameters> of_model(const std::string& path, const client::PlanFileContents& contents,
                                    const ModelFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const onnx::ModelFilePtr model, onnx::read_model(path));
  HEARTH_ASSIGN_OR_RETURN(onnx::ImportOptions options, flags.import_options());
  HEARTH_RETURN_IF_ERROR(add_dims(onnx::summarize(model), contents.plan, &options.dims));
  for (const v1::PlanFileFixedInput& input : contents.manifest.fixed_inputs())
    options.constants[input.name()] = {
        static_cast<DType>(input.dtype()), {input.shape().begin(), input.shape().end()}, input.data()};
  HEARTH_ASSIGN_OR_RETURN(const auto imported, onnx::import_model(model, options));
  HEARTH_ASSIGN_OR_RETURN(auto traced, client::encode_graph(imported.outputs));
  return std::move(traced.parameters);
}

}  // namespace

std::vector<std::string> external_parameters(const client::PlanFileContents& contents) {
  std::vector<std::string> names;
  for (const v1::PlanFileSection& section : contents.manifest.sections()) {
    if (section.external()) names.push_back(section.name());
  }
  return names;
}

absl::StatusOr<Parameters> read_parameters(const std::string& path, const client::PlanFileContents& contents,
                                           const std::vector<std::string>& files, const ModelFlags& flags) {
  std::vector<std::string> wanted = external_parameters(contents);
  if (wanted.empty()) {
    if (!files.empty()) return usage_error("--parameters ", files[0], ": ", path, " holds its parameters itself");
    return Parameters();
  }
  Parameters given;
  for (const std::string& file : files) {
    if (client::is_plan_file(file)) {
      return usage_error("--parameters ", file, ": a plan file; give safetensors or the ONNX model");
    }
    HEARTH_ASSIGN_OR_RETURN(auto found, is_safetensors(file) ? of_safetensors(file) : of_model(file, contents, flags));
    for (const std::string& name : wanted) {
      const auto data = found.find(name);
      if (data != found.end()) given.insert_or_assign(name, data->second);
    }
  }
  std::erase_if(wanted, [&](const std::string& name) { return given.count(name) > 0; });
  if (wanted.empty()) return given;
  const auto is_narrow = [](const std::string& name) { return name.ends_with("/bf16") || name.ends_with("/int8"); };
  const bool narrow = std::any_of(wanted.begin(), wanted.end(), is_narrow);
  return absl::InvalidArgumentError(
      str_cat(path, " was exported without its parameters, and ", some_of(wanted), files.empty() ? "" : " still",
              wanted.size() == 1 ? " is" : " are",
              " missing; give --parameters FILE.safetensors, or --parameters with the model it was exported from",
              narrow ? " and the --weights it was exported with" : ""));
}

}  // namespace hearth::cli
