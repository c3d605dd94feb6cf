#include "blobs/tools/list_digest.h"

#include "base/sha256.h"
#include "base/text.h"

namespace hearth::blobs {

std::uint64_t list_digest(const std::map<std::string, std::vector<std::string>>& exports) {
  std::string text;  // neither stems nor mangled names hold a line break
  for (const auto& [stem, prefixes] : exports) {
    str_append(&text, stem, "\n");
    for (const std::string& prefix : prefixes) str_append(&text, "\t", prefix, "\n");
  }
  const Digest digest = sha256(text);
  std::uint64_t first = 0;
  for (int i = 0; i < 8; ++i) first = first << 8 | digest[static_cast<std::size_t>(i)];
  return first;
}

std::string list_digest_literal(const std::map<std::string, std::vector<std::string>>& exports) {
  const std::uint64_t digest = list_digest(exports);
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(digest >> shift & 0xff);
  return str_cat("0x", to_hex(bytes), "ull");
}

}  // namespace hearth::blobs
