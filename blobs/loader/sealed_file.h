// SealedFile: a private copy of a compiled blob in memory that nobody can change any more, of the right SHA-256. What
// is checked is what is loaded: the file it came from may be replaced or damaged meanwhile.
//
// Owns its descriptor and mapping. Thread-safe to make; a value is one thread's. Errors: BlobError PERMISSION_DENIED (a
// link, no plain file, another user's, writable by others), NOT_FOUND, DATA_LOSS (other bytes than were compiled),
// INTERNAL (no memory for the copy). Example:
//   const SealedFile file("/home/me/.cache/ck_jit/fmha_fwd_….so", sha256_hex);
//   dlopen(file.loader_path().c_str(), RTLD_NOW | RTLD_LOCAL);
#pragma once
#include <string>
#include <string_view>

namespace hearth::blob {

class SealedFile {
 public:
  SealedFile(const std::string& path, const std::string& sha256_hex);
  ~SealedFile();
  SealedFile(const SealedFile&) = delete;
  SealedFile& operator=(const SealedFile&) = delete;

  std::string_view bytes() const { return data_ ? std::string_view(data_, size_) : std::string_view(); }
  // A path for dlopen, good as long as this lives; each call gives another spelling, because glibc takes an object of
  // a known name for the one that is loaded already, and descriptor numbers come back.
  std::string loader_path() const;

 private:
  void copy(int from, const std::string& path, const std::string& sha256_hex);
  void release();

  int fd_ = -1;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hearth::blob
