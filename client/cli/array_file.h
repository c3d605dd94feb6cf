// Arrays that commands take as files: .npy, or raw bytes with their type and lengths, for types that .npy has no name for.
// Raw bytes are little-endian and dense; numbers of less than a byte lie packed, as in ONNX files. Errors: those of
// read_npy, usage errors, and INVALID_ARGUMENT where the file's size is not that of type and lengths.
//
//   absl::StatusOr<ArrayFile> x = read_array_file("--input", "x.npy");
//   absl::StatusOr<ArrayFile> w = read_array_file("--input", "w.bin:int4:16x64");
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "hearth/array.h"

namespace hearth::cli {

inline constexpr const char* kArrayForm = "NAME=FILE.npy or NAME=FILE:TYPE:2x3";

struct ArrayFile {
  std::string path;
  client::Array array;
  std::string stored = {};  // onnx::ModelValue::stored; the array has codes then
};

// `flag` only names what was given in errors.
absl::StatusOr<ArrayFile> read_array_file(const std::string& flag, const std::string& text);

}  // namespace hearth::cli
