// hearth daemon start | stop | restart | status.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/print.h"
#include "client/cli/sandbox_text.h"
#include "client/cli/weights_text.h"
#include "command_line/command.h"
#include "proto/socket_path.h"
#include "runtime/build_id.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartTimeout{15};
constexpr std::chrono::seconds kStopTimeout{35};  // the daemon drains for 30 s, unless it was told otherwise
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr int kNotRunning = 3;    // exit code of `status`, as init scripts have it
constexpr int kNotAnswering = 4;  // likewise: the state is unknown

constexpr char kRunning[] = "running";

struct DaemonFlags {
  std::string socket;
  bool json = false;
  bool settings = false;
};

void print_settings(const v1::StatsResponse& stats) {
  if (stats.without_counters())
    note("settings that name users or files are for its operator (root, or its user) to see");
  if (stats.settings().empty()) return note("a daemon of this release tells its settings; this one is older");
  Rows rows{{"setting", "value", "from"}};
  for (const v1::SettingInForce& setting : stats.settings())
    rows.push_back({setting.name(), setting.value().empty() ? "-" : setting.value(), setting.from()});
  print_table(rows);
}

void print_state(const DaemonFlags& flags, const Channel& channel, const std::string& state,
                 const v1::StatsResponse& stats) {
  const bool same_build = stats.build_id() == build_id();
  if (flags.json) {
    nlohmann::ordered_json json = {{"running", true},
                                   {"state", state},
                                   {"pid", stats.pid()},
                                   {"socket", channel->socket_path()},
                                   {"socket_reason", std::string(reason_of_socket_path(flags.socket))},
                                   {"version", stats.version()},
                                   {"build_id", stats.build_id()},
                                   {"same_build", same_build},
                                   {"health", stats.health()}};
    if (!stats.without_counters()) {
      json["cache_dir"] = stats.cache_dir();
      json["cache_reason"] = stats.cache_reason();
      json["log_file"] = stats.log_file();
      json["weight_blocks"] = stats.weight_blocks();
      json["weight_bytes"] = stats.weight_bytes();
    }
    json["sandbox"] = sandbox_json(stats);
    for (const v1::SettingInForce& setting : stats.settings()) {
      if (flags.settings) json["settings"][setting.name()] = {{"value", setting.value()}, {"from", setting.from()}};
    }
    print_json(json);
    return;
  }
  if (verbosity() == Verbosity::kQuiet && state != kRunning) return;  // asked for is that it runs
  print_line("hearthd ", state, ": pid ", stats.pid(), ", ", stats.health());
  Rows facts{{"socket", str_cat(channel->socket_path(), " (", reason_of_socket_path(flags.socket), ")")}};
  if (!stats.without_counters()) {
    const std::string reason = stats.cache_reason().empty() ? "" : str_cat(" (", stats.cache_reason(), ")");
    facts.push_back({"cache", stats.cache_dir() + reason});
    facts.push_back({"log", stats.log_file().empty() ? "its standard error" : stats.log_file()});
    facts.push_back({"weights", weights_text(stats)});
  }
  facts.push_back({"sandbox", sandbox_text(stats)});
  facts.push_back({"build", stats.version() + " " + stats.build_id().substr(0, 12) +
                                (same_build ? "" : ", another one than this program's")});
  print_facts(facts);
  if (flags.settings) print_settings(stats);
}

int report_stopped(const DaemonFlags& flags, const std::string& socket, const std::string& text, int code) {
  if (flags.json) {
    print_json({{"running", false}, {"socket", socket}});
  } else {
    code == 0 ? print_summary(text, " (", socket, ")") : print_line(text, " (", socket, ")");
  }
  return code;
}

// The statistics of a daemon that serves, which is started if none does; `was_running`: whether one did.
absl::StatusOr<v1::StatsResponse> stats_of_started(const Channel& channel, Clock::time_point deadline,
                                                   bool& was_running) {
  for (;;) {
    HEARTH_ASSIGN_OR_RETURN(bool running, channel->daemon_is_running());
    was_running = running;
    if (!was_running) {
      HEARTH_RETURN_IF_ERROR(channel->start_daemon(deadline));
    }
    absl::StatusOr<v1::StatsResponse> stats = channel->stats(kStatusTimeout);
    // It was about to end when it accepted, and another one is wanted.
    if (!absl::IsUnavailable(stats.status()) || Clock::now() >= deadline) return stats;
    std::this_thread::sleep_for(kLookEvery);
  }
}

absl::StatusOr<int> start(const DaemonFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, client::DaemonChannel::get({.socket = flags.socket, .auto_start = true}));
  const Clock::time_point deadline = Clock::now() + kStartTimeout;
  bool was_running = false;
  absl::StatusOr<v1::StatsResponse> stats = stats_of_started(channel, deadline, was_running);
  // A daemon that serves may still find that it cannot compile.
  while (stats.ok() && !stats->workers_checked() && Clock::now() < deadline) {
    std::this_thread::sleep_for(kLookEvery);
    stats = channel->stats(kStatusTimeout);
  }
  HEARTH_RETURN_IF_ERROR(stats.status());
  if (was_running) note_daemon(channel);
  print_state(flags, channel, was_running ? "already running" : "started", *stats);
  return stats->health() == "ready" ? 0 : 1;
}

// Waits until the process is gone, which takes as long as its drain.
bool wait_for_end(pid_t pid, Clock::time_point deadline) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return errno == ESRCH;
  pollfd entry{process, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  const bool ended = ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(0, left))) == 1;
  ::close(process);
  return ended;
}

// True when one was running.
absl::StatusOr<bool> stop_and_wait(const Channel& channel) {
  absl::StatusOr<bool> running = channel->daemon_is_running();
  if (!running.ok() || !*running) return running;
  HEARTH_ASSIGN_OR_RETURN(const v1::StatsResponse stats, channel->stats(kStatusTimeout));
  HEARTH_RETURN_IF_ERROR(channel->shutdown(kAdminTimeout));
  if (!wait_for_end(static_cast<pid_t>(stats.pid()), Clock::now() + kStopTimeout)) {
    return absl::DeadlineExceededError(str_cat("hearthd (pid ", stats.pid(), ") takes no more requests on ",
                                               channel->socket_path(),
                                               " and still finishes those it had; it ends by itself"));
  }
  return true;
}

absl::StatusOr<int> stop(const DaemonFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, client::DaemonChannel::get({.socket = flags.socket, .auto_start = false}));
  HEARTH_ASSIGN_OR_RETURN(bool stopped, stop_and_wait(channel));
  return report_stopped(flags, channel->socket_path(), stopped ? "hearthd stopped" : "no daemon was running", 0);
}

absl::StatusOr<int> restart(const DaemonFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, client::DaemonChannel::get({.socket = flags.socket, .auto_start = true}));
  if (absl::StatusOr<bool> stopped = stop_and_wait(channel); !stopped.ok()) return stopped.status();
  return start(flags);
}

absl::StatusOr<int> status(const DaemonFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, client::DaemonChannel::get({.socket = flags.socket, .auto_start = false}));
  HEARTH_ASSIGN_OR_RETURN(bool running, channel->daemon_is_running());
  if (!running) return report_stopped(flags, channel->socket_path(), "no daemon is running", kNotRunning);
  const absl::StatusOr<v1::StatsResponse> stats = channel->stats(kStatusTimeout);
  if (absl::IsDeadlineExceeded(stats.status())) {
    if (flags.json) {
      print_json({{"running", true},
                  {"state", "not answering"},
                  {"socket", channel->socket_path()},
                  {"detail", std::string(stats.status().message())}});
    } else {
      print_line(stats.status().message());
    }
    return kNotAnswering;
  }
  HEARTH_RETURN_IF_ERROR(stats.status());
  print_state(flags, channel, kRunning, *stats);
  return 0;
}

}  // namespace

void add_daemon(CLI::App& app, Action& action) {
  auto flags = std::make_shared<DaemonFlags>();
  CLI::App* daemon =
      command_line::add_command(app, "daemon", "Start, stop or look at the daemon", {.see_also = {"hearthd(8)"}});
  daemon->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, absl::StatusOr<int> (*run)(const DaemonFlags&),
                       command_line::Manual manual) {
    CLI::App* command = command_line::add_command(*daemon, name, help, std::move(manual));
    add_socket_to(*command, flags->socket);
    add_json_to(*command, flags->json);
    if (run == status)
      command->add_flag("--settings", flags->settings,
                        "Show the daemon's settings, too, as they were given, and where each is from");
    command->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
  };
  add("start", "Start hearthd unless it runs", start,
      {.details = "Most commands start one themselves.",
       .examples = {{"hearth daemon start", "Starts a daemon for this user."}},
       .exit_statuses = {{1, "It cannot start, or it serves and cannot compile."}},
       .see_also = {"hearthd(8)"}});
  add("stop", "Stop the daemon after its requests are done", stop,
      {.examples = {{"hearth daemon stop", "Ends the daemon; plans that are loaded go on running."}}});
  add("restart", "Stop the daemon after its requests are done and start it again", restart,
      {.examples = {{"hearth daemon restart", "Starts one with the present settings."}}});
  add("status", "Say whether the daemon runs", status,
      {.examples = {{"hearth daemon status || hearth daemon start", "Starts one where none runs."},
                    {"hearth daemon status --settings", "Shows what is in force, and whence."}},
       .exit_statuses = {{0, "It runs."}, {3, "It does not run."}, {4, "It does not answer."}}});
}

}  // namespace hearth::cli
