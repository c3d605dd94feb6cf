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
// Of what a daemon answers from memory: one that needs longer is stopped or hangs.
inline constexpr std::chrono::seconds kStatusTimeout{2};

// UNAVAILABLE, naming the socket and the remedy, when no daemon runs.
absl::StatusOr<Channel> running_daemon(const std::string& socket);
// Starts one when none runs.
absl::StatusOr<Channel> any_daemon(const std::string& socket);

}  // namespace hearth::cli
