#include "client/cli/connect.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "client/cli/print.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

fs::path resolved(const std::string& path) {
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path, ignored).lexically_normal();
  const fs::path canonical = fs::weakly_canonical(absolute, ignored);
  const fs::path& found = canonical.empty() ? absolute : canonical;
  return found.has_filename() ? found : found.parent_path();
}

}  // namespace

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
  absl::Status started = (*channel)->have_daemon(std::chrono::steady_clock::now() + std::chrono::seconds(15));
  if (!started.ok()) return started;
  note_daemon(*channel);
  return channel;
}

void note_daemon(const Channel& channel) {
  static bool is_said = false;
  const char* cache_dir = std::getenv("HEARTH_CACHE_DIR");
  const bool has_cache_dir = cache_dir != nullptr && *cache_dir != '\0';
  if ((verbosity() != Verbosity::kVerbose && !has_cache_dir) || is_said) return;
  const auto stats = channel->stats(kStatusTimeout);
  if (!stats.ok()) return;  // what is asked of it next fails and says why
  is_said = true;
  print_detail("daemon ", stats->version(), ", pid ", stats->pid(), ", socket ", channel->socket_path(),
               stats->without_counters() ? "" : ", cache ", stats->cache_dir());
  // A node's service tells the folder to its own user alone; what this user would start is not asked of it.
  if (!has_cache_dir || stats->without_counters() || resolved(cache_dir) == resolved(stats->cache_dir())) return;
  note("warning: HEARTH_CACHE_DIR is ", cache_dir, ", but the daemon that runs on ", channel->socket_path(), " uses ",
       stats->cache_dir(), "; after `hearth daemon stop` the next command starts one with the other folder");
}

void note_daemon_of(const std::string& socket) {
  const absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (channel.ok()) note_daemon(*channel);
}

void add_socket_to(CLI::App& command, std::string& socket) {
  command
      .add_option("--socket", socket,
                  "The daemon's socket; without it HEARTH_SOCKET, else the node's service, else the user's own")
      ->type_name("FILE");
}

void add_json_to(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON instead of text, and no progress");
}

}  // namespace hearth::cli
