#include "client/onnx/model_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Proto = ::hearth_onnx::TensorProto;

// Element types newer than Debian's onnx.proto, with the numbers of ONNX 1.14.
constexpr int kFloat8E4M3FN = 17, kFloat8E5M2 = 19, kLastType = 28;

constexpr char kNotAModel[] = " is not an ONNX model (truncated or not ONNX at all); export or copy it again";

// Values stored one a varint in int32_data / int64_data / …, narrowed to the tensor's type.
template <typename T, typename Field>
std::string narrowed(const Field& values) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(values.size()) * sizeof(T));
  for (auto value : values) {
    const T narrow = static_cast<T>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(T));
  }
  return bytes;
}

std::string typed_data(const Proto& proto) {
  switch (proto.data_type()) {
    case Proto::FLOAT:
      return narrowed<float>(proto.float_data());
    case Proto::DOUBLE:
      return narrowed<double>(proto.double_data());
    case Proto::INT64:
      return narrowed<std::int64_t>(proto.int64_data());
    case Proto::UINT64:
      return narrowed<std::uint64_t>(proto.uint64_data());
    case Proto::UINT32:
      return narrowed<std::uint32_t>(proto.uint64_data());
    case Proto::INT32:
      return narrowed<std::int32_t>(proto.int32_data());
    case Proto::BOOL:
    case Proto::INT8:
    case Proto::UINT8:
    case kFloat8E4M3FN:
    case kFloat8E5M2:
      return narrowed<std::uint8_t>(proto.int32_data());
    default:
      if (storage_type(proto.data_type()) != nullptr) return narrowed<std::uint8_t>(proto.int32_data());  // packed
      return narrowed<std::uint16_t>(proto.int32_data());  // 16-bit integers and floats, as bits
  }
}

}  // namespace

ModelFile::ModelFile(::hearth_onnx::ModelProto proto, std::string path, std::unique_ptr<const ExternalData> external,
                     const ModelWithoutWeights& lean)
    : proto_(std::make_unique<const ::hearth_onnx::ModelProto>(std::move(proto))),
      path_(std::move(path)),
      external_(std::move(external)),
      file_(lean.file) {
  const ::hearth_onnx::GraphProto& graph = proto_->graph();
  for (const LargeWeight& weight : lean.weights) {
    const Proto& tensor = weight.initializer >= 0 ? graph.initializer(weight.initializer)
                                                  : graph.node(weight.node).attribute(weight.attribute).t();
    large_weights_[&tensor] = weight.bytes;
  }
}
ModelFile::~ModelFile() = default;

bool is_symbolic(const ::hearth_onnx::TensorShapeProto_Dimension& dim) {
  return !dim.has_dim_value() || dim.dim_value() < 0;
}

std::string name_of_dim(const std::string& value, int axis, const ::hearth_onnx::TensorShapeProto_Dimension& dim) {
  if (!is_symbolic(dim)) return "";
  // "?", "" and the like are what exporters write for lengths that have no name: two of them are two lengths.
  const std::string& name = dim.dim_param();
  const bool says_something =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0; });
  constexpr std::string_view kNoNames[] = {"-1",   "any", "dynamic",   "n/a",     "nan",        "none",
                                           "null", "unk", "undefined", "unknown", "unspecified"};
  const bool is_name = says_something && std::ranges::find(kNoNames, absl::AsciiStrToLower(name)) == std::end(kNoNames);
  return is_name ? name : str_cat(value, ".", axis);
}

std::vector<std::string> ModelFile::data_files() const {
  std::set<std::string> files;
  if (external_ != nullptr)
    for (const ExternalPlace& place : external_places(*proto_))
      files.insert(str_cat(external_->folder(), "/", place.location));
  return {files.begin(), files.end()};
}

std::string_view ModelFile::bytes_in_file(const Proto& tensor) const {
  const auto found = large_weights_.find(&tensor);
  return found == large_weights_.end() ? std::string_view() : found->second;
}

namespace {

absl::StatusOr<ModelFilePtr> parse(std::string_view bytes, const std::string& path,
                                   std::unique_ptr<const ExternalData> external, const ModelWithoutWeights& lean = {}) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(str_cat(
        path,
        ": larger than 2 GiB, the limit of the format; save it with its weights in another file (external data)"));
  }
  ::hearth_onnx::ModelProto model;
  google::protobuf::LogSilencer quiet;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || model.ir_version() < 1 ||
      !model.has_graph()) {
    return absl::InvalidArgumentError(str_cat(path, kNotAModel));
  }
  const absl::Status placed = client::catch_jit_error([&] { return external_places(model).size(); }).status();
  if (!placed.ok()) return absl::Status(placed.code(), str_cat(path, ": ", placed.message()));
  return std::make_shared<const ModelFile>(std::move(model), path, std::move(external), lean);
}

}  // namespace

absl::StatusOr<ModelFilePtr> read_model(const std::string& path, bool allow_links) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  auto external = std::make_unique<const ExternalData>(folder.empty() ? "." : folder, path, allow_links);
  if (const std::optional<ModelWithoutWeights> lean = read_without_weights(path)) {
    return parse(lean->message, path, std::move(external), *lean);
  }
  HEARTH_ASSIGN_OR_RETURN(const std::string bytes, runtime::read_file(path));
  if (bytes.empty()) return absl::InvalidArgumentError(str_cat(path, kNotAModel));
  return parse(bytes, path, std::move(external));
}

absl::StatusOr<ModelFilePtr> parse_model(std::string_view bytes, const std::string& path) {
  return parse(bytes, path, nullptr);
}

std::string_view onnx_type_name(std::int64_t elem_type) {
  if (elem_type == Proto::STRING) return "string";
  if (elem_type == Proto::COMPLEX64) return "complex64";
  if (elem_type == Proto::COMPLEX128) return "complex128";
  if (const StorageType* type = storage_type(elem_type)) return type->name;
  return "an unknown element type";
}

DType dtype_from_onnx(std::int64_t elem_type) {
  switch (elem_type) {
    case Proto::FLOAT:
      return DType::kF32;
    case Proto::UINT8:
      return DType::kU8;
    case Proto::INT8:
      return DType::kI8;
    case Proto::UINT16:
      return DType::kU16;
    case Proto::INT16:
      return DType::kI16;
    case Proto::INT32:
      return DType::kI32;
    case Proto::INT64:
      return DType::kI64;
    case Proto::BOOL:
      return DType::kBool;
    case Proto::FLOAT16:
      return DType::kF16;
    case Proto::DOUBLE:
      return DType::kF64;
    case Proto::UINT32:
      return DType::kU32;
    case Proto::UINT64:
      return DType::kU64;
    case Proto::BFLOAT16:
      return DType::kBF16;
    case kFloat8E4M3FN:
      return DType::kF8E4M3;
    case kFloat8E5M2:
      return DType::kF8E5M2;
    default: {
      const std::string_view name = onnx_type_name(elem_type);
      reject_unsupported(str_cat("element type ", elem_type, " (", name, ")"));
    }
  }
}

Text to_text(const Proto& proto) {
  Text text{{proto.dims().begin(), proto.dims().end()}, {proto.string_data().begin(), proto.string_data().end()}};
  if (count(text.shape) == std::ssize(text.elements)) return text;
  reject(str_cat("tensor '", proto.name(), "' of shape ", to_string(text.shape), " has ", text.elements.size(),
                 " strings"));
}

std::int64_t onnx_from_dtype(DType dtype) {
  for (std::int64_t elem_type = 1; elem_type <= kLastType; ++elem_type) {
    const auto found = client::catch_jit_error([&] { return dtype_from_onnx(elem_type); });
    if (found.ok() && *found == dtype) return elem_type;
  }
  return Proto::UNDEFINED;
}

std::string_view element_type_name(std::int64_t elem_type) {
  const auto dtype = client::catch_jit_error([&] { return dtype_from_onnx(elem_type); });
  return dtype.ok() ? dtype_name(*dtype) : onnx_type_name(elem_type);
}

DType dtype_of_elements(std::int64_t elem_type) {
  return storage_type(elem_type) != nullptr ? DType::kU8 : dtype_from_onnx(elem_type);
}

std::size_t stored_bytes(std::int64_t elem_type, const Ints& shape) {
  if (const StorageType* type = storage_type(elem_type)) return packed_size(count(shape), *type);
  return static_cast<std::size_t>(count(shape)) * dtype_bytes(dtype_from_onnx(elem_type));
}

namespace {

// The elements of `proto` as `dtype` and `shape`, which take as many bytes as they do.
HostTensor elements_of(const Proto& proto, const ModelFilePtr& model, DType dtype, Ints shape) {
  if (proto.has_segment()) reject_unsupported(str_cat("tensor '", proto.name(), "' is stored in segments, which"));
  const Ints stated(proto.dims().begin(), proto.dims().end());
  const std::size_t expected = stored_bytes(proto.data_type(), stated);
  if (is_external(proto)) {
    if (model == nullptr || model->external() == nullptr) {
      reject(str_cat("tensor '", proto.name(), "' keeps its data in another file, which is found only when the model ",
                     "itself is read from its file"));
    }
    const ExternalBytes bytes = model->external()->find(proto, expected);
    return HostTensor::mapped(dtype, std::move(shape), bytes.owner, bytes.data);
  }
  const auto check = [&](std::size_t found) {
    if (found == expected) return;
    reject(str_cat("tensor '", proto.name(), "' of shape ", to_string(stated), " needs ", expected,
                   " bytes of data but has ", found));
  };
  if (const std::string_view bytes = model ? model->bytes_in_file(proto) : std::string_view(); bytes.data()) {
    check(bytes.size());
    return HostTensor::mapped(dtype, std::move(shape), model->file(), bytes.data());
  }
  if (proto.has_raw_data()) {
    check(proto.raw_data().size());
    return HostTensor(dtype, std::move(shape), model, proto.raw_data().data());
  }
  std::string bytes = typed_data(proto);
  check(bytes.size());
  return HostTensor(dtype, std::move(shape), std::move(bytes));
}

}  // namespace

HostTensor to_host_tensor(const Proto& proto, const ModelFilePtr& model) {
  return elements_of(proto, model, dtype_from_onnx(proto.data_type()), {proto.dims().begin(), proto.dims().end()});
}

HostTensor to_packed_codes(const Proto& proto, const ModelFilePtr& model) {
  const Ints shape(proto.dims().begin(), proto.dims().end());
  const auto bytes = static_cast<std::int64_t>(stored_bytes(proto.data_type(), shape));
  return elements_of(proto, model, DType::kU8, {bytes});
}

HostTensor to_host_codes(const Proto& proto, const ModelFilePtr& model) {
  const HostTensor packed = to_packed_codes(proto, model);
  Ints shape(proto.dims().begin(), proto.dims().end());
  const std::int64_t elements = count(shape);
  return HostTensor(DType::kU8, std::move(shape),
                    unpacked({packed.data(), packed.bytes()}, elements, *storage_type(proto.data_type())));
}

}  // namespace hearth::onnx
