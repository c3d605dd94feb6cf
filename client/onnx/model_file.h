// ModelFile: a parsed ONNX model, and where the tensors are that it keeps in other files. Large weights in the model's
// own file stay there, mapped: the file may be replaced while the model is used (by renaming another one), but not
// truncated. Nothing in a file is trusted: lengths, types and data sizes are checked. The generated onnx.pb.h stays out
// of headers. Immutable; thread-safe. Errors: status naming the file (read_model, parse_model) or JitError (the rest).
//
//   absl::StatusOr<std::shared_ptr<const ModelFile>> model = read_model("model.onnx");
//   HostTensor weights = to_host_tensor((*model)->proto().graph().initializer(0), *model);
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "client/onnx/external_data.h"
#include "client/onnx/value.h"
#include "client/onnx/without_weights.h"
#include "hearth/onnx.h"

namespace hearth_onnx {
class ModelProto;
class TensorProto;
class TensorShapeProto_Dimension;
}  // namespace hearth_onnx

namespace hearth::onnx {

class ModelFile {
 public:
  // `external` may be null: then every tensor in another file is refused. `lean` says what `proto` is without, if
  // anything: its message is not looked at.
  ModelFile(::hearth_onnx::ModelProto proto, std::string path, std::unique_ptr<const ExternalData> external,
            const ModelWithoutWeights& lean = {});
  ~ModelFile();
  const ::hearth_onnx::ModelProto& proto() const { return *proto_; }
  const std::string& path() const { return path_; }
  const ExternalData* external() const { return external_.get(); }
  // Paths of the other files that hold its tensors, each once.
  std::vector<std::string> data_files() const;
  // The bytes of a tensor of proto() that are in the mapped file instead; without data when they are not.
  std::string_view bytes_in_file(const ::hearth_onnx::TensorProto& tensor) const;
  const std::shared_ptr<const runtime::MappedFile>& file() const { return file_; }

 private:
  const std::unique_ptr<const ::hearth_onnx::ModelProto> proto_;
  const std::string path_;
  const std::unique_ptr<const ExternalData> external_;
  const std::shared_ptr<const runtime::MappedFile> file_;                                  // null: all was read
  std::unordered_map<const ::hearth_onnx::TensorProto*, std::string_view> large_weights_;  // looked up, never iterated
};
using ModelFilePtr = std::shared_ptr<const ModelFile>;

// The file and, as they are needed, files beside it that hold its tensors.
// Links of these out of the model's folder: see ExternalData.
absl::StatusOr<ModelFilePtr> read_model(const std::string& path, bool allow_links = false);
// `path` only names the model in errors; tensors in other files are refused.
absl::StatusOr<ModelFilePtr> parse_model(std::string_view bytes, const std::string& path);

// Borrows the bytes where it can: of the model or of a mapped file, which the result keeps alive. `model` may be null
// for a tensor of its own, whose proto must outlive the result.
HostTensor to_host_tensor(const ::hearth_onnx::TensorProto& proto, const ModelFilePtr& model);
// The codes of a tensor of a type that is only stored: u8, one an element.
HostTensor to_host_codes(const ::hearth_onnx::TensorProto& proto, const ModelFilePtr& model);
// Its bytes as the model has them, borrowed where it can: u8 of one axis.
HostTensor to_packed_codes(const ::hearth_onnx::TensorProto& proto, const ModelFilePtr& model);
// How many bytes a tensor's elements take in a model; JitError as dtype_from_onnx.
std::size_t stored_bytes(std::int64_t elem_type, const Ints& shape);
// The strings of a tensor of strings.
Text to_text(const ::hearth_onnx::TensorProto& proto);
// Whether a dimension has no length of its own: a name, nothing, or -1, which some exporters write.
bool is_symbolic(const ::hearth_onnx::TensorShapeProto_Dimension& dim);
// What ImportOptions.dims calls an axis: its own name, or "VALUE.AXIS" where it has none; "" for a number.
std::string name_of_dim(const std::string& value, int axis, const ::hearth_onnx::TensorShapeProto_Dimension& dim);
// TensorProto.DataType -> dtype; JitError for strings, complex and unknown numbers.
DType dtype_from_onnx(std::int64_t elem_type);
std::string_view onnx_type_name(std::int64_t elem_type);
// "f32", "int4", "string"
std::string_view element_type_name(std::int64_t elem_type);
// TensorProto.DataType of a dtype.
std::int64_t onnx_from_dtype(DType dtype);
// What tensors of a type are here: u8 of one that is only stored.
DType dtype_of_elements(std::int64_t elem_type);

// For who imports a model more than once; see hearth/onnx.h.
absl::StatusOr<ImportedModel> import_model(const std::shared_ptr<const ModelFile>& model,
                                           const ImportOptions& options = {});

}  // namespace hearth::onnx
