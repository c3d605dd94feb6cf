// hearth daemon start | stop | status.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/sandbox_text.h"
#include "runtime/text.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kStopTimeout{35};  // the daemon drains for at most 30 s
constexpr int kNotRunning = 3;                    // exit code of `status`, as init scripts have it

struct DaemonFlags {
  std::string socket;
  bool json = false;
};

absl::StatusOr<int> report(const DaemonFlags& flags, const Channel& channel, const std::string& state) {
  const auto stats = channel->stats(kAdminTimeout);
  if (!stats.ok()) return stats.status();
  if (flags.json) {
    std::cout << Json{{"running", true},
                      {"state", state},
                      {"pid", stats->pid()},
                      {"socket", channel->socket_path()},
                      {"version", stats->version()},
                      {"health", stats->health()},
                      {"cache_dir", stats->cache_dir()},
                      {"sandbox", sandbox_json(*stats)}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << "hearthd " << state << ": pid " << stats->pid() << ", socket " << channel->socket_path() << ", cache "
              << stats->cache_dir() << ", " << stats->health() << "; sandbox " << sandbox_text(*stats) << "\n";
  }
  return 0;
}

int report_stopped(const DaemonFlags& flags, const std::string& socket, const std::string& text, int code) {
  if (flags.json) {
    std::cout << Json{{"running", false}, {"socket", socket}}.dump(2) << "\n";
  } else {
    std::cout << text << " (" << socket << ")\n";
  }
  return code;
}

absl::StatusOr<int> start(const DaemonFlags& flags) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = flags.socket, .auto_start = true});
  if (!channel.ok()) return channel.status();
  const bool running = (*channel)->daemon_is_running();
  if (!running) {
    absl::Status started = (*channel)->start_daemon(std::chrono::steady_clock::now() + std::chrono::seconds(15));
    if (!started.ok()) return started;
  }
  return report(flags, *channel, running ? "already running" : "started");
}

absl::StatusOr<int> stop(const DaemonFlags& flags) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = flags.socket, .auto_start = false});
  if (!channel.ok()) return channel.status();
  const std::string& socket = (*channel)->socket_path();
  if (!(*channel)->daemon_is_running()) return report_stopped(flags, socket, "no daemon was running", 0);
  if (absl::Status asked = (*channel)->shutdown(kAdminTimeout); !asked.ok()) return asked;
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while ((*channel)->daemon_is_running()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(str_cat("the daemon on ", socket, " is still draining; try again later"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return report_stopped(flags, socket, "hearthd stopped", 0);
}

absl::StatusOr<int> status(const DaemonFlags& flags) {
  absl::StatusOr<Channel> channel = client::DaemonChannel::get({.socket = flags.socket, .auto_start = false});
  if (!channel.ok()) return channel.status();
  if ((*channel)->daemon_is_running()) return report(flags, *channel, "running");
  return report_stopped(flags, (*channel)->socket_path(), "no daemon is running", kNotRunning);
}

}  // namespace

void add_daemon(CLI::App& app, Action& action) {
  auto flags = std::make_shared<DaemonFlags>();
  CLI::App* daemon = app.add_subcommand("daemon", "Start, stop or look at the daemon");
  daemon->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const DaemonFlags&)) {
    CLI::App* command = daemon->add_subcommand(name, help);
    command->add_option("--socket", flags->socket, "The daemon's socket");
    command->add_flag("--json", flags->json, "Print JSON");
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
  };
  add("start", "Start hearthd unless it runs", start);
  add("stop", "Stop it after its requests are done", stop);
  add("status", "Exit 0 when it runs, 3 when not", status);
}

}  // namespace hearth::cli
