#include "client/onnx/test_data.h"

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "client/onnx/case_data.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

namespace fs = std::filesystem;

template <typename Declared>
absl::Status read_values(const fs::path& folder, const char* prefix, const Declared& declared,
                         std::vector<std::pair<std::string, client::Array>>& values, std::vector<std::string>& files) {
  for (int i = 0; i < declared.size(); ++i) {
    const std::string path = (folder / str_cat(prefix, i, ".pb")).string();
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return absl::OkStatus();
    ::hearth_onnx::ValueInfoProto as = declared[i];
    if (as.type().value_case() == ::hearth_onnx::TypeProto::VALUE_NOT_SET) {  // then the file's type is as good as any
      const absl::StatusOr<std::string> bytes = runtime::read_file(path);
      ::hearth_onnx::TensorProto tensor;
      if (bytes.ok() && tensor.ParseFromString(*bytes))
        as.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
    }
    const absl::StatusOr<CaseValue> value = client::catch_jit_error([&] { return read_case_value(path, as); });
    if (!value.ok()) return absl::Status(value.status().code(), str_cat(path, ": ", value.status().message()));
    if (value->is_absent) continue;
    if (value->is_sequence || value->tensors.size() != 1)
      return absl::InvalidArgumentError(str_cat(path, ": '", value->name, "' is no tensor of numbers"));
    values.emplace_back(value->name, value->tensors.front());
    files.push_back(path);
  }
  // One more than the model has would be compared with nothing.
  const std::string more = (folder / str_cat(prefix, declared.size(), ".pb")).string();
  std::error_code ignored;
  if (!fs::exists(more, ignored)) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat(more, ": the model has ", declared.size(), " of them"));
}

}  // namespace

absl::StatusOr<TestData> read_test_data(const std::string& folder, const ModelFile& model) {
  TestData data;
  const ::hearth_onnx::GraphProto& graph = model.proto().graph();
  absl::Status read = read_values(folder, "input_", graph.input(), data.inputs, data.files);
  if (read.ok()) read = read_values(folder, "output_", graph.output(), data.outputs, data.files);
  if (!read.ok()) return read;
  if (data.outputs.empty()) return absl::NotFoundError(str_cat(folder, ": there is no output_0.pb to compare with"));
  return data;
}

absl::StatusOr<std::vector<std::string>> find_test_data(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / "output_0.pb", ignored)) return std::vector<std::string>{folder};
  std::vector<std::string> sets;
  for (int i = 0;; ++i) {
    const fs::path set = fs::path(folder) / str_cat("test_data_set_", i);
    if (!fs::is_directory(set, ignored)) break;
    sets.push_back(set.string());
  }
  if (sets.empty())
    return absl::NotFoundError(
        str_cat(folder, ": neither output_0.pb nor a folder test_data_set_0 is in it, as ONNX's test cases have them"));
  return sets;
}

}  // namespace hearth::onnx
