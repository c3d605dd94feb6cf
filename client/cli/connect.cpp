#include "client/cli/connect.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "base/status_macros.h"
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

std::string variable_of(std::string setting) {
  for (char& c : setting) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "HEARTH_" + setting;
}

// This process's variables that may be settings of the daemon: HEARTH_ and a name, beside those that clients read.
std::map<std::string, std::string> possible_settings() {
  static const std::set<std::string> kOfClients = {"HEARTH_SOCKET",
                                                   "HEARTH_NO_AUTOSTART",
                                                   "HEARTH_DAEMON",
                                                   "HEARTH_CONFIG",
                                                   "HEARTH_DEVICE",
                                                   "HEARTH_THREADS",
                                                   "HEARTH_OPT_LEVEL",
                                                   "HEARTH_FAST_MATH",
                                                   "HEARTH_SEALED",
                                                   "HEARTH_DIRECT_CONVOLUTIONS",
                                                   "HEARTH_SHARE_WEIGHTS",
                                                   "HEARTH_SUBNORMALS",
                                                   "HEARTH_TRUSTED_KEYS",
                                                   "HEARTH_PREPARE_TIMEOUT_MS",
                                                   "HEARTH_DEVICE_TIMEOUT_MS",
                                                   "HEARTH_VULKAN_TRIAL",
                                                   "HEARTH_VULKAN_VALIDATION",
                                                   "HEARTH_VULKAN_STAGING"};
  std::map<std::string, std::string> found;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = text.find('=');
    if (!text.starts_with("HEARTH_") || end == text.npos || end + 1 == text.size()) continue;
    const std::string name(text.substr(0, end));
    if (!kOfClients.contains(name)) found.emplace(name, text.substr(end + 1));
  }
  return found;
}

}  // namespace

absl::StatusOr<Channel> running_daemon(const std::string& socket) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = socket, .auto_start = false});
  if (!channel.ok()) return channel;
  HEARTH_ASSIGN_OR_RETURN(bool running, (*channel)->daemon_is_running());
  if (running) {
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
  const std::map<std::string, std::string> given = possible_settings();
  if ((verbosity() != Verbosity::kVerbose && given.empty()) || is_said) return;
  const auto stats = channel->stats(kStatusTimeout);
  if (!stats.ok()) return;  // what is asked of it next fails and says why
  is_said = true;
  print_detail("daemon ", stats->version(), ", pid ", stats->pid(), ", socket ", channel->socket_path(),
               stats->without_counters() ? "" : ", cache ", stats->cache_dir());
  for (const v1::SettingInForce& setting : stats->settings()) {
    const auto found = given.find(variable_of(setting.name()));
    if (found == given.end()) continue;
    const auto& [name, value] = *found;
    const bool is_cache = setting.name() == "cache_dir";
    const std::string has = is_cache ? stats->cache_dir() : setting.value();
    if (is_cache ? resolved(value) == resolved(has) : value == has) continue;
    note("warning: ", name, " is ", value, ", but the daemon that runs on ", channel->socket_path(), " uses ",
         has.empty() ? "none" : has, is_cache ? "" : str_cat(" (", setting.from(), ")"),
         stats->without_counters() ? str_cat("; its operator sets it")
                                   : str_cat("; after `hearth daemon stop` the next command starts one with the other ",
                                             is_cache ? "folder" : "value"));
  }
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
