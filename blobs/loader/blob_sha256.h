// BlobSha256: SHA-256 (FIPS 180-4), with no library behind it: this archive is linked into other people's libraries,
// where nothing but libc may be needed and nothing but the header's names be seen. Everywhere else hearth uses nettle
// (base/sha256.h), with which a test compares this. Not thread-safe; use one a thread. No errors. Example:
//   BlobSha256 sha;
//   sha.add(bytes);
//   std::string hex = sha.hex();
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::blob {

class BlobSha256 {
 public:
  void add(std::string_view bytes);
  // Lower-case hexadecimal of all that was added; nothing may be added after it.
  std::string hex();

 private:
  void add_block(const unsigned char* block);

  std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char rest_[64] = {};  // bytes that do not fill a block yet
  std::size_t num_rest_ = 0;
  std::uint64_t num_bytes_ = 0;
};

}  // namespace hearth::blob
