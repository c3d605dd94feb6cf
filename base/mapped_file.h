// MappedFile: a regular file's bytes, mapped read-only and shared with whoever else maps it. Immutable; thread-safe.
// The file must not be truncated while it is mapped: reading beyond its end raises SIGBUS. copy_mapped reads without
// that risk; kernels that read a mapped weight do not have it. Replacing a file by renaming another one is safe.
// Whoever is given bytes can ask whether they are of a mapped file, and of which: containing().
// Errors: those of read_file (base/file.h); messages begin with the path.
//
//   absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::open("weights.safetensors");
//   std::string_view bytes = (*file)->bytes();
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_stamp.h"
#include "base/sha256.h"

namespace hearth::runtime {

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  static absl::StatusOr<std::shared_ptr<const MappedFile>> open(const std::string& path);
  // Maps an open file, which may be closed afterwards; `path` only names it in errors.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The mapped file that all of these bytes belong to; null when there is none.
  static std::shared_ptr<const MappedFile> containing(std::string_view bytes);

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  // The file's stamp when it was mapped.
  const files::FileStamp& stamp() const { return stamp_; }
  // Takes the whole pages among these bytes out of this process's memory; who reads them gets them from the page cache.
  void release(std::string_view bytes) const;

 private:
  MappedFile(void* data, std::size_t size, const files::FileStamp& stamp) : data_(data), size_(size), stamp_(stamp) {}
  void* data_;  // null for an empty file
  std::size_t size_;
  const files::FileStamp stamp_;
};

// Copies `size` bytes that may be of a mapped file. DATA_LOSS when the file has become shorter and they are gone.
absl::Status copy_mapped(const void* from, std::size_t size, void* to);
// SHA-256 of bytes that may be of a mapped file; likewise.
absl::StatusOr<Digest> sha256_mapped(std::string_view bytes);

}  // namespace hearth::runtime
