// NumPy .npy files: dense row-major little-endian arrays of every dtype NumPy has a name for. bf16 and f8 arrays are
// written as f32, which holds them exactly. Reads format versions 1 and 2; Fortran order, big-endian, structured or
// object arrays are errors. Thread-safe. Errors: one line naming the file.
//
//   absl::StatusOr<Array> x = read_npy("x.npy");
//   absl::Status saved = write_npy("y.npy", DType::kF32, {2, 3}, y.data(), y.size() * sizeof(float));
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/array.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// "-" is standard input; a pipe is read to its end.
absl::StatusOr<Array> read_npy(const std::string& path);
// The file's content; `path` only names it in errors.
absl::StatusOr<Array> parse_npy(std::string_view content, const std::string& path);

// The array as `dtype`, if that is its own or one that .npy files have no name for (bf16, f8) and it holds f32, which
// write_npy gives for those: rounded to nearest. Else nothing.
std::optional<Array> as_dtype(Array array, DType dtype);

// `size_bytes` must be what dtype and shape say. The file appears whole or not at all (written beside, then renamed).
absl::Status write_npy(const std::string& path, DType dtype, const std::vector<std::int64_t>& shape, const void* data,
                       std::size_t size_bytes);

}  // namespace hearth::client
#pragma GCC visibility pop
