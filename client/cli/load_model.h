// A model from its file, with the arrays that flags give for its inputs: an ONNX model, imported and traced, or a plan
// file, loaded. Errors: status naming file, flag, input.
//
//   absl::StatusOr<Model> model = load_model("model.onnx", flags);
//   absl::StatusOr<PlanOfFile> plan = load_plan_of("model.hearth", flags, {"weights.safetensors"});
#pragma once
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/model_flags.h"
#include "client/cli/output_files.h"
#include "client/trace/encoded_graph.h"
#include "hearth/array.h"
#include "hearth/plan_file.h"
#include "hearth/v1/plan.pb.h"

namespace hearth::cli {

struct Model {
  std::string name;  // for the daemon's log and lists: the file's, with its folder's before it
  onnx::ImportedModel imported;
  client::EncodedGraph traced;                  // empty for a plan file
  std::map<std::string, client::Array> arrays;  // of --input
  std::map<std::string, std::string> stored;    // of raw arrays that are codes: onnx::ModelValue::stored
  // For scalars that the model compares with constants, which decide what it computes: the constants, then others.
  std::map<std::string, std::vector<client::Array>> steering;
  std::map<std::string, client::Array> expected;  // outputs that ModelFlags::test_data has
  OutputFiles files;                              // what it was read from, and the arrays
};

// A plan file is refused: it holds no graph.
absl::StatusOr<Model> load_model(const std::string& path, const ModelFlags& flags);

struct PlanOfFile {
  Model model;  // inputs and results as the plan has them
  client::PreparedPlan plan;
};

// `parameters`: files with what the plan was exported without; safetensors, or the ONNX model it was exported from.
absl::StatusOr<PlanOfFile> load_plan_of(const std::string& path, const ModelFlags& flags,
                                        const std::vector<std::string>& parameters);

// A checked plan's expression over its variables; JitError where it is none.
client::Dim dim_of(const v1::Expr& expr, const v1::Plan& plan);
// The shape of a buffer of a checked plan, over the plan's variables.
absl::StatusOr<client::Shape> shape_of(const v1::PlanBuffer& buffer, const v1::Plan& plan);

// Why a command that needs a graph cannot take a plan file: "is a plan file, which …"; `remedy` ends the sentence.
absl::Status refuse_plan_file(const std::string& path, const std::string& remedy);

}  // namespace hearth::cli
