// Runs an imported model on the wire interpreter, so that importer and recording ops are checked without the compiler.
//
//   absl::StatusOr<std::vector<Array>> results = evaluate(*model, {{"x", x}});
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/onnx/conformance.h"
#include "tests/unit/onnx/model_builder.h"

namespace hearth::onnx {

// An f32 array's elements, and the other way round.
Array array_of(std::vector<std::int64_t> shape, const std::vector<float>& values);
std::vector<float> elements(const Array& array);

absl::StatusOr<std::vector<Array>> evaluate(const ImportedModel& model, const std::map<std::string, Array>& inputs);
// With a value for every variable that a range in ImportOptions.dims made.
absl::StatusOr<std::vector<Array>> evaluate_at(const ImportedModel& model, const std::map<std::string, Array>& inputs,
                                               const std::map<std::string, std::int64_t>& vars);

// The first result of a model that must import and run: fails the Catch2 test otherwise.
Array first_result(const ModelBuilder& model, const std::map<std::string, Array>& inputs,
                   const ImportOptions& options = {});

}  // namespace hearth::onnx
