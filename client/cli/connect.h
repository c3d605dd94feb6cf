// Connecting to the daemon from a command. Errors: status.
//
//   absl::StatusOr<std::shared_ptr<client::DaemonChannel>> channel = running_daemon(flags.socket);
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/daemon_channel.h"

namespace hearth::cli {

using Channel = std::shared_ptr<client::DaemonChannel>;

inline constexpr std::chrono::seconds kAdminTimeout{60};

// UNAVAILABLE, naming the socket and the remedy, when no daemon runs.
absl::StatusOr<Channel> running_daemon(const std::string& socket);
// Starts one when none runs.
absl::StatusOr<Channel> any_daemon(const std::string& socket);

// Notes, once a process, that HEARTH_CACHE_DIR names another folder than the running daemon uses: only the daemon that
// one starts oneself reads it. Both functions above do this; for commands that prepare without them.
void warn_of_other_cache(const std::string& socket);

}  // namespace hearth::cli
