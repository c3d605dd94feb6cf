// ModelFile: a parsed ONNX model and where the tensors are that it keeps in other files. Nothing in a file is trusted:
// lengths, types and data sizes are checked. The generated onnx.pb.h stays out of headers. Immutable; thread-safe.
// Errors: status naming the file (read_model, parse_model) or JitError (the rest).
//
//   absl::StatusOr<std::shared_ptr<const ModelFile>> model = read_model("model.onnx");
//   HostTensor weights = to_host_tensor((*model)->proto().graph().initializer(0), *model);
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/onnx/external_data.h"
#include "client/onnx/value.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace hearth::onnx {

class ModelFile {
 public:
  // `external` may be null: then every tensor in another file is refused.
  ModelFile(::onnx::ModelProto proto, std::string path, std::unique_ptr<const ExternalData> external);
  ~ModelFile();
  const ::onnx::ModelProto& proto() const { return *proto_; }
  const std::string& path() const { return path_; }
  const ExternalData* external() const { return external_.get(); }

 private:
  const std::unique_ptr<const ::onnx::ModelProto> proto_;
  const std::string path_;
  const std::unique_ptr<const ExternalData> external_;
};
using ModelFilePtr = std::shared_ptr<const ModelFile>;

// The file and, as they are needed, files beside it that hold its tensors.
absl::StatusOr<ModelFilePtr> read_model(const std::string& path);
// `path` only names the model in errors; tensors in other files are refused.
absl::StatusOr<ModelFilePtr> parse_model(std::string_view bytes, const std::string& path);

// Borrows the bytes where it can: of the model, which the result keeps alive, or of a mapped file. `model` may be null
// for a tensor of its own, whose proto must outlive the result.
HostTensor to_host_tensor(const ::onnx::TensorProto& proto, const ModelFilePtr& model);
// Of a tensor of strings.
Text to_text(const ::onnx::TensorProto& proto);
// TensorProto.DataType -> dtype; JitError for strings, complex and unknown numbers.
DType dtype_from_onnx(std::int64_t elem_type);
std::string_view onnx_type_name(std::int64_t elem_type);

}  // namespace hearth::onnx
