#include "client/cli/connect.h"

#include "runtime/text.h"

namespace hearth::cli {

absl::StatusOr<Channel> running_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (!channel.ok()) return channel;
  absl::StatusOr<bool> running = (*channel)->daemon_is_running();
  if (!running.ok()) return running.status();
  if (*running) return channel;
  return absl::UnavailableError(
      str_cat("no daemon is running on ", (*channel)->socket_path(), "; start one with: hearth daemon start"));
}

absl::StatusOr<Channel> any_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = true});
  if (!channel.ok()) return channel;
  absl::Status started = (*channel)->start_daemon(std::chrono::steady_clock::now() + std::chrono::seconds(15));
  if (!started.ok()) return started;
  return channel;
}

}  // namespace hearth::cli
