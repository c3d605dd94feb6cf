// Parameters of a plan that was exported without them (`hearth export --no-parameters`), from files that have them: a
// safetensors file, or the ONNX model that the plan was exported from, which is imported again with the plan's own
// lengths. That they are the very bytes the plan was exported with, load_plan checks. Errors: status naming file and
// parameter.
//
//   auto parameters = read_parameters("m.hearth", contents, {"m.onnx"}, flags);
#pragma once
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/model_flags.h"
#include "client/files/plan_file_contents.h"
#include "hearth/plan_file.h"

namespace hearth::cli {

// Names of the parameters that the file leaves out, in its order.
std::vector<std::string> external_parameters(const client::PlanFileContents& contents);

// `path`: the plan file's. An error when `files` leave one of its external parameters out.
absl::StatusOr<std::map<std::string, client::ParameterData>> read_parameters(const std::string& path,
                                                                             const client::PlanFileContents& contents,
                                                                             const std::vector<std::string>& files,
                                                                             const ModelFlags& flags);

}  // namespace hearth::cli
