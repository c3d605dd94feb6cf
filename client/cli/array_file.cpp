#include "client/cli/array_file.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/print.h"
#include "client/onnx/storage_type.h"
#include "hearth/dtype.h"
#include "hearth/npy.h"

namespace hearth::cli {
namespace {

struct ElementType {
  DType dtype = DType::kU8;
  const onnx::StorageType* stored = nullptr;
};

// By our name, numpy's, ml_dtypes' or ONNX's.
std::optional<ElementType> element_type(std::string_view name) {
  if (const onnx::StorageType* stored = onnx::storage_type_named(name)) return ElementType{DType::kU8, stored};
  static constexpr std::pair<std::string_view, DType> kOther[] = {{"float32", DType::kF32},
                                                                  {"float64", DType::kF64},
                                                                  {"double", DType::kF64},
                                                                  {"float", DType::kF32},
                                                                  {"float16", DType::kF16},
                                                                  {"bfloat16", DType::kBF16},
                                                                  {"int8", DType::kI8},
                                                                  {"int16", DType::kI16},
                                                                  {"int32", DType::kI32},
                                                                  {"int64", DType::kI64},
                                                                  {"uint8", DType::kU8},
                                                                  {"uint16", DType::kU16},
                                                                  {"uint32", DType::kU32},
                                                                  {"uint64", DType::kU64},
                                                                  {"float8_e4m3fn", DType::kF8E4M3},
                                                                  {"float8e4m3fn", DType::kF8E4M3},
                                                                  {"float8_e5m2", DType::kF8E5M2},
                                                                  {"float8e5m2", DType::kF8E5M2}};
  for (const auto& [other, dtype] : kOther)
    if (other == name) return ElementType{dtype, nullptr};
  if (const std::optional<DType> dtype = dtype_from_name(name)) return ElementType{*dtype, nullptr};
  return std::nullopt;
}

// "2x3"; nothing where it is not that, or too much for memory.
std::optional<std::vector<std::int64_t>> lengths_of(const std::string& text) {
  std::vector<std::int64_t> lengths;
  std::int64_t elements = 1;
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  for (const std::string& part : parts) {
    std::int64_t length = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), length);
    if (error != std::errc() || end != part.data() + part.size() || part.empty() || length < 0) return std::nullopt;
    if (__builtin_mul_overflow(elements, length, &elements) || elements > std::numeric_limits<std::int64_t>::max() / 8)
      return std::nullopt;
    lengths.push_back(length);
  }
  return lengths;
}

}  // namespace

absl::StatusOr<ArrayFile> read_array_file(const std::string& flag, const std::string& text) {
  // FILE:TYPE is a scalar, FILE:TYPE:2x3 an array; a file's name may have colons in it.
  std::vector<std::string> parts = absl::StrSplit(text, ':');
  const auto is_type = [&](std::size_t from_end) {
    return parts.size() > from_end && element_type(parts[parts.size() - from_end]).has_value();
  };
  const bool has_lengths = is_type(2);
  if (!has_lengths && !is_type(1)) {
    HEARTH_ASSIGN_OR_RETURN(client::Array array, client::read_npy(text));
    return ArrayFile{text, std::move(array)};
  }
  ArrayFile given;
  std::vector<std::int64_t> lengths;
  if (has_lengths) {
    const std::optional<std::vector<std::int64_t>> read = lengths_of(parts.back());
    if (!read) return usage_error(flag, " ", text, ": '", parts.back(), "' are no lengths; expected such as 2x3");
    lengths = *read;
    parts.pop_back();
  }
  const std::string type_name = parts.back();
  const ElementType type = *element_type(type_name);
  parts.pop_back();
  given.path = absl::StrJoin(parts, ":");
  std::int64_t elements = 1;
  for (const std::int64_t length : lengths) elements *= length;
  const std::size_t expected = type.stored != nullptr ? onnx::packed_size(elements, *type.stored)
                                                      : static_cast<std::size_t>(elements) * dtype_bytes(type.dtype);
  HEARTH_ASSIGN_OR_RETURN(std::string bytes, runtime::read_input(given.path));
  if (bytes.size() != expected) {
    return absl::InvalidArgumentError(
        str_cat(given.path, ": ", bytes.size(), " bytes; ", elements, " elements of ", type_name, " are ", expected));
  }
  if (type.stored != nullptr) {
    given.stored = std::string(type.stored->ml_dtypes_name);
    bytes = onnx::unpacked(bytes, elements, *type.stored);
  }
  given.array = {type.dtype, std::move(lengths), std::move(bytes)};
  return given;
}

}  // namespace hearth::cli
