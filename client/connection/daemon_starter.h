// Finds and starts hearthd. However many processes race, one daemon starts: the starter holds a lock file beside the
// socket, everybody else waits for the socket. Thread-safe; no gRPC.
// Errors: UNAVAILABLE naming the program and quoting the end of its log; DEADLINE_EXCEEDED; NOT_FOUND (no hearthd);
// FAILED_PRECONDITION when the socket is another user's.
//
//   if (!*daemon_accepts(socket)) status = start_daemon(socket, Clock::now() + std::chrono::seconds(10));
#pragma once
#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::client {

inline constexpr std::chrono::seconds kDaemonStartLimit{10};

// HEARTH_DAEMON, else hearthd beside this program or this library, else on PATH.
absl::StatusOr<std::string> find_daemon_program();

// Returns once a daemon accepts connections, at the latest at `deadline` or after kDaemonStartLimit.
absl::Status start_daemon(const std::string& socket_path, std::chrono::steady_clock::time_point deadline);

}  // namespace hearth::client
