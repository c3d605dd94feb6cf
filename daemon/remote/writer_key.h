// Keys as files and settings have them. A secret: "hearth-ed25519-secret " and base64 of 32 bytes, in a file of its
// owner alone. A public key: base64 of 32 bytes. Pure but for files; thread-safe. Errors: FAILED_PRECONDITION or
// INVALID_ARGUMENT, which name the file or the word and the remedy.
//
//   absl::StatusOr<Ed25519Secret> writer = read_writer_key("/etc/hearth/writer.key");
//   std::string line = public_key_text(writer->public_key());    // for remote_trusted_keys
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "base/ed25519.h"

namespace hearth::daemon {

absl::StatusOr<Ed25519Secret> read_writer_key(const std::string& path);
std::string writer_key_text(const Ed25519Secret& secret);

std::string public_key_text(const Ed25519PublicKey& key);
absl::StatusOr<Ed25519PublicKey> parse_public_key(const std::string& text);

}  // namespace hearth::daemon
