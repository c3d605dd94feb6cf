// The models of this tree and those that the build made (tests/models) as traced graphs, with concrete shapes for those with symbolic ones.
// Deterministic: sorted by name. Errors: those of the ONNX importer.
//
//   for (const ModelCase& model : model_cases(source_dir)) absl::StatusOr<v1::Graph> graph = traced(model);
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/onnx.h"
#include "hearth/v1/graph.pb.h"

namespace hearth {

struct ModelCase {
  std::string name;  // with the shape, where a model has several
  std::filesystem::path path;
  onnx::ImportOptions options;
};

// Every *.onnx of examples/digits and of the folders that the build made.
std::vector<ModelCase> model_cases(const std::filesystem::path& source_dir);
// What of them is not among model_cases(), and why; for test::skip_part.
std::vector<std::string> models_left_out();

absl::StatusOr<v1::Graph> traced(const ModelCase& model);

}  // namespace hearth
