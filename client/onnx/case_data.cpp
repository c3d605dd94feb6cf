#include "client/onnx/case_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "client/onnx/model_file.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// SequenceProto.tensor_values and OptionalProto.tensor_value; OptionalProto.sequence_value.
constexpr int kTensorField = 3, kSequenceField = 5;

// The fields `number` of a message that holds numbers and length-delimited fields.
std::vector<std::string> fields(const std::string& bytes, int number) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  std::vector<std::string> found;
  while (const std::uint32_t tag = stream.ReadTag()) {
    std::uint32_t value = 0;
    if (!stream.ReadVarint32(&value)) reject("the data ends within a field");
    if ((tag & 7U) == 0) continue;
    std::string field;
    if (!stream.ReadString(&field, static_cast<int>(value))) reject("the data ends within a field");
    if (tag >> 3U == static_cast<std::uint32_t>(number)) found.push_back(field);
  }
  return found;
}

std::string type_name(int type) {
  return ::hearth_onnx::TensorProto_DataType_IsValid(type) ? ::hearth_onnx::TensorProto_DataType_Name(type)
                                                           : str_cat(type);
}

client::Array read_tensor(const std::string& bytes, int type, const std::string& file, const std::string& name) {
  ::hearth_onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) reject(str_cat(file, " is no tensor"));
  // ONNX 1.12 writes bfloat16 as uint16 of the same bits. Results are left out: they are cut off, not rounded.
  if (type == ::hearth_onnx::TensorProto::BFLOAT16 && tensor.data_type() == ::hearth_onnx::TensorProto::UINT16 &&
      file.starts_with("input_")) {
    tensor.set_data_type(type);
  }
  if (tensor.data_type() != type) {
    reject_unsupported(str_cat("data of type ", type_name(tensor.data_type()), " for '", name,
                               "', which the case's own model declares as ", type_name(type), ","));
  }
  const HostTensor x = storage_type(type) != nullptr ? to_host_codes(tensor, nullptr) : to_host_tensor(tensor, nullptr);
  return {x.dtype(), x.shape(), std::string(x.data(), x.bytes())};
}

}  // namespace

std::string CaseValue::tensor_name(std::size_t index) const { return is_sequence ? str_cat(name, "/", index) : name; }

CaseValue read_case_value(const std::string& path, const ::hearth_onnx::ValueInfoProto& declared) {
  CaseValue value{.name = declared.name()};
  absl::StatusOr<std::string> content = runtime::read_file(path);
  if (!content.ok()) throw client::JitError(content.status());
  std::string bytes = *std::move(content);
  const std::string file = std::filesystem::path(path).filename().string();
  const ::hearth_onnx::TypeProto* type = &declared.type();
  if (type->has_optional_type()) {
    type = &type->optional_type().elem_type();
    const auto held = fields(bytes, type->has_sequence_type() ? kSequenceField : kTensorField);
    value.is_absent = held.empty();
    if (value.is_absent) return value;
    bytes = held[0];
  }
  std::vector<std::string> tensors = {bytes};
  if (type->has_sequence_type()) {
    type = &type->sequence_type().elem_type();
    value.is_sequence = true;
    tensors = fields(bytes, kTensorField);
  }
  if (!type->has_tensor_type()) {
    reject_unsupported(str_cat("'", value.name, "': a type other than tensors, sequences and optionals of them"));
  }
  if (type->tensor_type().elem_type() == ::hearth_onnx::TensorProto::STRING && !value.is_sequence &&
      file.starts_with("input_")) {
    value.text = bytes;
    return value;
  }
  for (const std::string& tensor : tensors) {
    value.tensors.push_back(read_tensor(tensor, type->tensor_type().elem_type(), file, value.name));
  }
  return value;
}

}  // namespace hearth::onnx
