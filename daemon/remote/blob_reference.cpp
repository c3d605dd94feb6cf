#include "daemon/remote/blob_reference.h"

#include <algorithm>

#include "remote_execution/remote_execution.pb.h"

namespace hearth::daemon {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

BlobReference BlobReference::of(std::string_view bytes) { return {sha256(bytes), bytes.size()}; }

std::optional<BlobReference> BlobReference::from(const build::bazel::remote::execution::v2::Digest& message) {
  BlobReference blob;
  const std::string& hash = message.hash();
  if (hash.size() != 2 * blob.digest.size() || message.size_bytes() < 0) return std::nullopt;
  for (std::size_t i = 0; i < blob.digest.size(); ++i) {
    const int high = hex_digit(hash[2 * i]), low = hex_digit(hash[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    blob.digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  blob.size = static_cast<std::uint64_t>(message.size_bytes());
  return blob;
}

void BlobReference::write_to(build::bazel::remote::execution::v2::Digest* message) const {
  message->set_hash(to_hex(digest));
  message->set_size_bytes(static_cast<std::int64_t>(size));
}

}  // namespace hearth::daemon
