#include "client/files/plan_file_signature.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "absl/strings/str_split.h"
#include "base/ed25519_text.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

constexpr char kTrustedKeysVariable[] = "HEARTH_TRUSTED_KEYS";

std::string signed_text(std::string_view manifest, const v1::PlanFileSignature& signature) {
  return str_cat("hearth.plan_file.v1\n", to_hex(sha256(manifest)), "\n", signature.key_id(), "\n",
                 signature.signed_at(), "\n");
}

// The manifest's last field, as its bytes end with it.
std::string field_of(const v1::PlanFileSignature& signature) {
  v1::PlanFileManifest alone;
  *alone.mutable_signature() = signature;
  return alone.SerializeAsString();
}

absl::StatusOr<Ed25519Secret> read_key(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::FailedPreconditionError(
        str_cat(path, ": others than its owner may read this key; chmod 600 it, or make another one"));
  }
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  absl::StatusOr<Ed25519Secret> secret = parse_secret(text);
  if (secret.ok()) return secret;
  return absl::FailedPreconditionError(str_cat(path, ": it holds no key; make one with hearth remote keygen"));
}

}  // namespace

absl::StatusOr<std::string> signed_manifest(std::string manifest, const std::string& key_file) {
  HEARTH_ASSIGN_OR_RETURN(const Ed25519Secret secret, read_key(key_file));
  v1::PlanFileSignature signature;
  signature.set_key_id(key_id(secret.public_key()));
  signature.set_signed_at(std::time(nullptr));
  const Ed25519Signature made = secret.sign(signed_text(manifest, signature));
  signature.set_signature(made.data(), made.size());
  return manifest + field_of(signature);
}

absl::Status check_signed(std::string_view bytes, const v1::PlanFileManifest& manifest, std::vector<std::string> keys) {
  const char* const variable = std::getenv(kTrustedKeysVariable);
  const bool is_from_environment = keys.empty() && variable != nullptr && *variable != '\0';
  if (is_from_environment) keys = absl::StrSplit(variable, ',', absl::SkipWhitespace());
  if (keys.empty() && !is_from_environment) return absl::OkStatus();
  std::vector<Ed25519PublicKey> trusted;
  for (const std::string& text : keys) {
    const absl::StatusOr<Ed25519PublicKey> key = parse_public_key(text);
    if (!key.ok()) {
      return absl::InvalidArgumentError(
          str_cat(is_from_environment ? kTrustedKeysVariable : "trusted_keys", ": ", key.status().message()));
    }
    trusted.push_back(*key);
  }
  const auto refused = [&](std::string_view why) {
    return absl::PermissionDeniedError(str_cat(why, ", and only files that a trusted key signed are loaded (",
                                               is_from_environment ? kTrustedKeysVariable : "trusted_keys",
                                               "); export it with --sign"));
  };
  if (!manifest.has_signature()) return refused("it is not signed");
  const v1::PlanFileSignature& signature = manifest.signature();
  const std::string field = field_of(signature);
  v1::PlanFileManifest rest;
  if (!bytes.ends_with(field)) return refused("its signature is not where it belongs");
  const std::string_view stated = bytes.substr(0, bytes.size() - field.size());
  if (!rest.ParseFromArray(stated.data(), static_cast<int>(stated.size())) || rest.has_signature())
    return refused("its signature is not where it belongs");
  const auto key = std::ranges::find(trusted, signature.key_id(), key_id);
  Ed25519Signature made{};
  if (key == trusted.end() || signature.signature().size() != made.size())
    return refused("it is signed by a key that is not trusted");
  std::ranges::copy(signature.signature(), made.begin());
  if (verifies(*key, signed_text(stated, signature), made)) return absl::OkStatus();
  return refused(str_cat("key ", signature.key_id(), " did not sign it as it is"));
}

}  // namespace hearth::client
