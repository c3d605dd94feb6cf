// Runs an imported model on the reference interpreter, so that importer and recording ops are checked without the
// compiler.
//
//   absl::StatusOr<std::vector<Array>> results = evaluate(*model, {{"x", x}});
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/npy.h"
#include "client/onnx/importer.h"

namespace hearth::onnx {

using Array = client::NpyArray;

// `vars`: a value for every variable that a range in ImportOptions.dims made.
absl::StatusOr<std::vector<Array>> evaluate(const ImportedModel& model, const std::map<std::string, Array>& inputs,
                                            const std::map<std::string, std::int64_t>& vars = {});

// What differs beyond |got - want| <= absolute + relative * |want|, "" if nothing. Shapes and types must be equal.
std::string difference(const Array& got, const Array& want, double relative, double absolute);

}  // namespace hearth::onnx
