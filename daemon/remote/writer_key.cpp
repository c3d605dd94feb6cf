#include "daemon/remote/writer_key.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/trusted_file.h"

namespace hearth::daemon {
namespace {

constexpr char kHeading[] = "hearth-ed25519-secret ";
constexpr std::size_t kMaxShownBytes = 80;

}  // namespace

absl::StatusOr<Ed25519Secret> read_writer_key(const std::string& path) {
  if (absl::Status status = check_private_file("remote_writer_key", path); !status.ok())
    return absl::FailedPreconditionError(status.message());
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  std::string bytes;
  if (absl::ConsumePrefix(&rest, kHeading) && absl::Base64Unescape(rest, &bytes)) {
    if (std::optional<Ed25519Secret> secret = Ed25519Secret::of(bytes)) return *std::move(secret);
  }
  return absl::FailedPreconditionError(
      str_cat("remote_writer_key: '", path, "' holds no key; make one with hearth remote keygen"));
}

std::string writer_key_text(const Ed25519Secret& secret) {
  return str_cat(kHeading, absl::Base64Escape(absl::string_view(secret.bytes().data(), secret.bytes().size())), "\n");
}

std::string public_key_text(const Ed25519PublicKey& key) {
  return absl::Base64Escape(absl::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}

absl::StatusOr<Ed25519PublicKey> parse_public_key(const std::string& text) {
  std::string bytes;
  Ed25519PublicKey key{};
  if (!absl::Base64Unescape(absl::StripAsciiWhitespace(text), &bytes) || bytes.size() != key.size()) {
    return absl::InvalidArgumentError(
        str_cat("'", printable(text, kMaxShownBytes), "' is no public key: expected what hearth remote keygen prints"));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

}  // namespace hearth::daemon
