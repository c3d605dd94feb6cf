// MappedFile: a regular file's bytes, mapped read-only and shared with whoever else maps it. Immutable; thread-safe.
// The file must not be truncated while it is mapped: reading beyond its end would raise SIGBUS.
// Errors: those of read_file (runtime/file.h); messages begin with the path.
//
//   absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::open("weights.safetensors");
//   std::string_view bytes = (*file)->bytes();
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::runtime {

class MappedFile {
 public:
  static absl::StatusOr<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
  void* data_;  // null for an empty file
  std::size_t size_;
};

}  // namespace hearth::runtime
