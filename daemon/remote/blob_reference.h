// BlobReference: bytes in a content-addressed storage, by digest and size; the API's Digest. Plain value; thread-safe.
//
//   const BlobReference blob = BlobReference::of(bytes);
//   std::optional<BlobReference> named = BlobReference::from(message);   // nothing: not a SHA-256, or no size
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/sha256.h"

namespace build::bazel::remote::execution::v2 {
class Digest;
}

namespace hearth::daemon {

struct BlobReference {
  Digest digest{};
  std::uint64_t size = 0;  // bytes

  static BlobReference of(std::string_view bytes);
  static std::optional<BlobReference> from(const build::bazel::remote::execution::v2::Digest& message);
  void write_to(build::bazel::remote::execution::v2::Digest* message) const;
  // True for the bytes that it names.
  bool is_of(std::string_view bytes) const { return bytes.size() == size && sha256(bytes) == digest; }

  bool operator==(const BlobReference&) const = default;
  auto operator<=>(const BlobReference&) const = default;
};

}  // namespace hearth::daemon
