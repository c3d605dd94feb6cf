// A folder of arrays for a model, as ONNX's test cases and model zoo have them: input_N.pb and output_N.pb, a
// TensorProto each, in the order of the model's inputs and outputs. Errors: NOT_FOUND, INVALID_ARGUMENT or DATA_LOSS
// naming the file.
//
//   absl::StatusOr<TestData> data = read_test_data("model/test_data_set_0", **model);
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/onnx/model_file.h"
#include "hearth/array.h"

namespace hearth::onnx {

struct TestData {
  std::vector<std::pair<std::string, client::Array>> inputs, outputs;  // by name
  std::vector<std::string> files;
};

absl::StatusOr<TestData> read_test_data(const std::string& folder, const ModelFile& model);

// The sets of a folder: it is one itself, or has test_data_set_0, test_data_set_1, … in it. NOT_FOUND without any.
absl::StatusOr<std::vector<std::string>> find_test_data(const std::string& folder);

}  // namespace hearth::onnx
