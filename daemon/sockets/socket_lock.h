// The lock on a socket's path, `PATH.lock`: one daemon per path. It holds the holder's pid for messages. Errors:
// ALREADY_EXISTS naming the holder; those of FileLock. Example:
//   auto lock = lock_socket("/run/user/1000/hearth/hearthd.sock", std::chrono::seconds(10));
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <string>

#include "base/file_lock.h"

namespace hearth::daemon {

// Waits up to `patience` for a holder that does not serve the socket: it is starting or ending.
absl::StatusOr<runtime::FileLock> lock_socket(const std::string& socket_path, std::chrono::milliseconds patience);

}  // namespace hearth::daemon
