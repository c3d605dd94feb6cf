// read_writer_key: the secret by which a node signs its results, of a file that nobody but the daemon's user reads.
// Errors: FAILED_PRECONDITION, which names the setting, the file and the remedy. Thread-safe.
//
//   absl::StatusOr<Ed25519Secret> writer = read_writer_key("/etc/hearth/writer.key");
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "base/ed25519.h"

namespace hearth::daemon {

absl::StatusOr<Ed25519Secret> read_writer_key(const std::string& path);

}  // namespace hearth::daemon
