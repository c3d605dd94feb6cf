#include "client/cli/connect.h"

#include <CLI/CLI.hpp>

#include "client/cli/print.h"
#include "runtime/text.h"

namespace hearth::cli {

absl::StatusOr<Channel> running_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (!channel.ok()) return channel;
  absl::StatusOr<bool> running = (*channel)->daemon_is_running();
  if (!running.ok()) return running.status();
  if (*running) {
    note_daemon(*channel);
    return channel;
  }
  return absl::UnavailableError(
      str_cat("no daemon is running on ", (*channel)->socket_path(), "; start one with: hearth daemon start"));
}

absl::StatusOr<Channel> any_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = true});
  if (!channel.ok()) return channel;
  absl::Status started = (*channel)->start_daemon(std::chrono::steady_clock::now() + std::chrono::seconds(15));
  if (!started.ok()) return started;
  note_daemon(*channel);
  return channel;
}

void note_daemon(const Channel& channel) {
  static bool is_said = false;
  if (verbosity() != Verbosity::kVerbose || is_said) return;
  const auto stats = channel->stats(kStatusTimeout);
  if (!stats.ok()) return;  // what is asked of it next fails and says why
  is_said = true;
  print_detail("daemon ", stats->version(), ", pid ", stats->pid(), ", socket ", channel->socket_path(), ", cache ",
               stats->cache_dir());
}

void note_daemon_of(const std::string& socket) {
  if (verbosity() != Verbosity::kVerbose) return;
  const absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (channel.ok()) note_daemon(*channel);
}

void add_socket_to(CLI::App& command, std::string& socket) {
  command.add_option("--socket", socket, "The daemon's socket; without it HEARTH_SOCKET, else the user's own")
      ->type_name("FILE");
}

void add_json_to(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON instead of text, and no progress");
}

}  // namespace hearth::cli
