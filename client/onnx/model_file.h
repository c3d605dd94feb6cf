// Bytes of an ONNX file -> checked ModelProto, and its tensors -> HostTensor. Nothing in the file is trusted: lengths,
// types and data sizes are checked. The generated onnx.pb.h stays out of headers. Errors: status naming the file
// (parse_model) or JitError (the rest).
//
//   absl::StatusOr<std::shared_ptr<const ::onnx::ModelProto>> model = read_model("model.onnx");
//   HostTensor weights = to_host_tensor((*model)->graph().initializer(0), *model);
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/onnx/value.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace hearth::onnx {

absl::StatusOr<std::shared_ptr<const ::onnx::ModelProto>> read_model(const std::string& path);
// `path` only names the model in errors.
absl::StatusOr<std::shared_ptr<const ::onnx::ModelProto>> parse_model(std::string_view bytes, const std::string& path);

// Borrows raw_data where it can; `owner` keeps the proto alive.
HostTensor to_host_tensor(const ::onnx::TensorProto& proto, const std::shared_ptr<const void>& owner);
// Of a tensor of strings.
Text to_text(const ::onnx::TensorProto& proto);
// TensorProto.DataType -> dtype; JitError for strings, complex and unknown numbers.
DType dtype_from_onnx(std::int64_t elem_type);
std::string_view onnx_type_name(std::int64_t elem_type);

}  // namespace hearth::onnx
