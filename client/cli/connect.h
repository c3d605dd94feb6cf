// Connecting to the daemon from a command. Errors: status.
//
//   absl::StatusOr<std::shared_ptr<client::DaemonChannel>> channel = running_daemon(flags.socket);
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/connection/daemon_channel.h"

namespace CLI {
class App;
}

namespace hearth::cli {

using Channel = std::shared_ptr<client::DaemonChannel>;

inline constexpr std::chrono::seconds kAdminTimeout{60};
// For what a daemon answers from memory: one that needs longer is stopped or hangs.
inline constexpr std::chrono::seconds kStatusTimeout{2};

// UNAVAILABLE, naming the socket and the remedy, when no daemon runs.
absl::StatusOr<Channel> running_daemon(const std::string& socket);
// Starts one when none runs and HEARTH_NO_AUTOSTART does not forbid it.
absl::StatusOr<Channel> any_daemon(const std::string& socket);
// Says once which daemon serves the socket (--verbose), and warns of each variable that is a setting of the daemon and
// not what it has: only a daemon that a command starts reads this process's environment.
void note_daemon(const Channel& channel);
// The same for commands that prepare without a channel of their own.
void note_daemon_of(const std::string& socket);

// --socket and --json, which most commands have.
void add_socket_to(CLI::App& command, std::string& socket);
void add_json_to(CLI::App& command, bool& json);

}  // namespace hearth::cli
