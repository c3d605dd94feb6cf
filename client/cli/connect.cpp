#include "client/cli/connect.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/cli/print.h"
#include "runtime/text.h"

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

void warn_of_other_cache(const std::string& socket) {
  static bool is_checked = false;
  const char* wanted = std::getenv("HEARTH_CACHE_DIR");
  if (wanted == nullptr || *wanted == '\0' || std::exchange(is_checked, true)) return;
  const auto channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (!channel.ok()) return;
  const auto stats = (*channel)->stats(std::chrono::seconds(2));
  if (!stats.ok() || resolved(wanted) == resolved(stats->cache_dir())) return;
  note("warning: HEARTH_CACHE_DIR is ", wanted, ", but the daemon that runs on ", (*channel)->socket_path(), " uses ",
       stats->cache_dir(), "; `hearth daemon stop` lets the next command start one with the other folder");
}

absl::StatusOr<Channel> running_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (!channel.ok()) return channel;
  if ((*channel)->daemon_is_running()) {
    warn_of_other_cache(socket);
    return channel;
  }
  return absl::UnavailableError(
      str_cat("no daemon is running on ", (*channel)->socket_path(), "; start one with: hearth daemon start"));
}

absl::StatusOr<Channel> any_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = true});
  if (!channel.ok()) return channel;
  if ((*channel)->daemon_is_running()) {
    warn_of_other_cache(socket);
    return channel;
  }
  absl::Status started = (*channel)->start_daemon(std::chrono::steady_clock::now() + std::chrono::seconds(15));
  if (!started.ok()) return started;
  return channel;
}

}  // namespace hearth::cli
