// Ed25519 keys as files and settings have them. A secret: "hearth-ed25519-secret " and base64 of 32 bytes. A public key:
// base64 of 32 bytes. Pure; thread-safe. Errors: INVALID_ARGUMENT, which shows a public key that is none and never a
// secret.
//
//   const std::string line = public_key_text(secret.public_key());
//   absl::StatusOr<Ed25519PublicKey> key = parse_public_key(line);
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "base/ed25519.h"

namespace hearth {

std::string secret_text(const Ed25519Secret& secret);
absl::StatusOr<Ed25519Secret> parse_secret(const std::string& text);

std::string public_key_text(const Ed25519PublicKey& key);
absl::StatusOr<Ed25519PublicKey> parse_public_key(const std::string& text);

// A key as people name it: 16 hexadecimal digits of its digest.
std::string key_id(const Ed25519PublicKey& key);

}  // namespace hearth
