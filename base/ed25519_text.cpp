#include "base/ed25519_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth {
namespace {

constexpr char kHeading[] = "hearth-ed25519-secret ";
constexpr std::size_t kMaxShownBytes = 80;
constexpr std::size_t kIdDigits = 16;

absl::string_view view_of(const Ed25519PublicKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace

std::string secret_text(const Ed25519Secret& secret) {
  return str_cat(kHeading, absl::Base64Escape(absl::string_view(secret.bytes().data(), secret.bytes().size())), "\n");
}

absl::StatusOr<Ed25519Secret> parse_secret(const std::string& text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  std::string bytes;
  if (absl::ConsumePrefix(&rest, kHeading) && absl::Base64Unescape(rest, &bytes)) {
    if (std::optional<Ed25519Secret> secret = Ed25519Secret::of(bytes)) return *std::move(secret);
  }
  return absl::InvalidArgumentError("no key of hearth remote keygen");
}

std::string public_key_text(const Ed25519PublicKey& key) { return absl::Base64Escape(view_of(key)); }

absl::StatusOr<Ed25519PublicKey> parse_public_key(const std::string& text) {
  std::string bytes;
  Ed25519PublicKey key{};
  if (!absl::Base64Unescape(absl::StripAsciiWhitespace(text), &bytes) || bytes.size() != key.size()) {
    return absl::InvalidArgumentError(str_cat("'", absl::CHexEscape(text.substr(0, kMaxShownBytes)),
                                              "' is no public key: expected what hearth remote keygen prints"));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

std::string key_id(const Ed25519PublicKey& key) {
  const absl::string_view bytes = view_of(key);
  return to_hex(sha256({bytes.data(), bytes.size()})).substr(0, kIdDigits);
}

}  // namespace hearth
