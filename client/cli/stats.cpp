// hearth stats: counters of the running daemon.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "client/cli/remote_text.h"
#include "client/cli/sandbox_text.h"
#include "client/cli/weights_text.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct StatsFlags {
  std::string socket;
  bool json = false;
};

constexpr char kOfOthers[] =
    "what tells of other users is for the daemon's operator (root, or the daemon's user) to see";

std::string daemon_text(const v1::StatsResponse& s) {
  return "pid " + std::to_string(s.pid()) + ", " + s.version() + ", up " + fixed(s.uptime_s(), 0) + " s, " + s.health();
}

Json to_json(const v1::StatsResponse& s) {
  if (s.without_counters()) {
    return {{"pid", s.pid()},       {"version", s.version()},   {"build_id", s.build_id()},
            {"health", s.health()}, {"uptime_s", s.uptime_s()}, {"sandbox", sandbox_json(s)}};
  }
  return {{"pid", s.pid()},
          {"version", s.version()},
          {"build_id", s.build_id()},
          {"health", s.health()},
          {"uptime_s", s.uptime_s()},
          {"rss_bytes", s.rss_bytes()},
          {"cache_dir", s.cache_dir()},
          {"cache_bytes", s.cache_bytes()},
          {"cache_limit_bytes", s.cache_limit_bytes()},
          {"cache_entries", s.cache_entries()},
          {"requests", s.requests()},
          {"plan_hits", s.plan_hits()},
          {"plan_misses", s.plan_misses()},
          {"plan_joined", s.plan_joined()},
          {"plan_errors", s.plan_errors()},
          {"sealed_misses", s.sealed_misses()},
          {"kernels_compiled", s.kernels_compiled()},
          {"kernel_hits", s.kernel_hits()},
          {"kernel_joined", s.kernel_joined()},
          {"quarantined", s.quarantined()},
          {"evicted", s.evicted()},
          {"queued_jobs", s.queued_jobs()},
          {"queued_blobs", s.queued_blobs()},
          {"workers", s.workers()},
          {"worker_crashes", s.worker_crashes()},
          {"worker_timeouts", s.worker_timeouts()},
          {"blob_requests", s.blob_requests()},
          {"blob_hits", s.blob_hits()},
          {"blob_misses", s.blob_misses()},
          {"blob_joined", s.blob_joined()},
          {"blob_errors", s.blob_errors()},
          {"blobs_compiled", s.blobs_compiled()},
          {"blob_workers", s.blob_workers()},
          {"weight_blocks", s.weight_blocks()},
          {"weight_bytes", s.weight_bytes()},
          {"weight_limit_bytes", s.weight_limit_bytes()},
          {"weight_users", s.weight_users()},
          {"weights_found", s.weights_found()},
          {"leases", s.leases()},
          {"sessions", s.sessions()},
          {"refused_connections", s.refused_connections()},
          {"remote", remote_json(s)},
          {"sandbox", sandbox_json(s)}};
}

absl::StatusOr<int> stats(const StatsFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(Channel channel, running_daemon(flags.socket));
  HEARTH_ASSIGN_OR_RETURN(const auto s, channel->stats(kStatusTimeout));
  if (flags.json) {
    print_json(to_json(s));
    return 0;
  }
  if (s.without_counters()) {
    print_facts({{"daemon", daemon_text(s)}, {"sandbox", sandbox_text(s)}, {"counters", kOfOthers}});
    return 0;
  }
  print_facts({
      {"daemon", daemon_text(s) + ", " + human_bytes(s.rss_bytes())},
      {"cache", s.cache_dir() + ", " + std::to_string(s.cache_entries()) + " entries, " +
                    human_bytes(static_cast<double>(s.cache_bytes())) + " of " +
                    human_bytes(static_cast<double>(s.cache_limit_bytes())) +
                    (s.evicted() > 0 ? ", " + std::to_string(s.evicted()) + " files evicted" : "")},
      {"requests", std::to_string(s.requests()) + ": " + std::to_string(s.plan_hits()) + " hits, " +
                       std::to_string(s.plan_misses()) + " misses, " + std::to_string(s.plan_joined()) + " joined, " +
                       std::to_string(s.plan_errors()) + " errors" +
                       (s.sealed_misses() > 0 ? ", " + std::to_string(s.sealed_misses()) + " of them sealed" : "")},
      {"kernels", std::to_string(s.kernels_compiled()) + " compiled, " + std::to_string(s.kernel_hits()) + " hits, " +
                      std::to_string(s.kernel_joined()) + " joined, " + std::to_string(s.quarantined()) +
                      " quarantined"},
      {"blobs", std::to_string(s.blob_requests()) + ": " + std::to_string(s.blob_hits()) + " hits, " +
                    std::to_string(s.blob_misses()) + " misses, " + std::to_string(s.blob_joined()) + " joined, " +
                    std::to_string(s.blob_errors()) + " errors; " + std::to_string(s.blobs_compiled()) + " compiled, " +
                    std::to_string(s.blob_workers()) + " workers running"},
      {"workers", std::to_string(s.workers()) + " running, " + std::to_string(s.queued_jobs()) + " jobs waiting, " +
                      std::to_string(s.worker_crashes()) + " crashes, " + std::to_string(s.worker_timeouts()) +
                      " timeouts"},
      {"sandbox", sandbox_text(s)},
      {"remote", remote_text(s)},
      {"weights", weights_text(s)},
      {"clients",
       std::to_string(s.sessions()) + " sessions, " + std::to_string(s.leases()) + " leases" +
           (s.refused_connections() > 0 ? ", " + std::to_string(s.refused_connections()) + " connections refused"
                                        : "")},
  });
  return 0;
}

}  // namespace

void add_stats(CLI::App& app, Action& action) {
  auto flags = std::make_shared<StatsFlags>();
  CLI::App* command = command_line::add_command(
      app, "stats", "Show counters of the running daemon",
      {.details = "Starts no daemon.", .examples = {{"hearth stats --json", "Shows all counters, for programs."}}});
  add_socket_to(*command, flags->socket);
  add_json_to(*command, flags->json);
  command->callback([flags, &action] { action = [flags] { return stats(*flags); }; });
}

}  // namespace hearth::cli
