#include "daemon/serve/metrics_text.h"

#include <absl/strings/str_cat.h>

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace hearth::daemon {
namespace {

using Samples = std::vector<std::pair<std::string, double>>;  // labels with braces, or none; value

// Every digit: counters move by one however large they are.
std::string exact(double value) {
  char text[400];
  constexpr double kWhole = 9007199254740992;  // 2^53
  const bool is_whole = value == std::trunc(value) && std::fabs(value) <= kWhole;
  constexpr double kShort = 1e15;  // fits into `text` with its fraction
  const auto end = is_whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
                   : std::fabs(value) < kShort
                       ? std::to_chars(text, text + sizeof text, value, std::chars_format::fixed)
                       : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

class Page {
 public:
  void add(const std::string& name, const char* type, const char* help, const Samples& samples) {
    absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
    for (const auto& [labels, value] : samples) absl::StrAppend(&text_, name, labels, " ", exact(value), "\n");
  }
  // Histograms of one name, each with a label.
  void histogram(const std::string& name, const char* help, const char* label,
                 const std::vector<std::pair<const char*, Histogram>>& all) {
    absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " histogram\n");
    for (const auto& [value, times] : all) {
      const std::string of = *label == '\0' ? "" : absl::StrCat(label, "=\"", value, "\"");
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < times.counts.size(); ++i) {
        count += times.counts[i];
        const std::string bound = i < Histogram::kBounds.size() ? exact(Histogram::kBounds[i]) : "+Inf";
        absl::StrAppend(&text_, name, "_bucket{", of, of.empty() ? "" : ",", "le=\"", bound, "\"} ", count, "\n");
      }
      const std::string labels = of.empty() ? "" : absl::StrCat("{", of, "}");
      absl::StrAppend(&text_, name, "_sum", labels, " ", exact(times.seconds), "\n", name, "_count", labels, " ", count,
                      "\n");
    }
  }
  void counter(const std::string& name, const char* help, double value) { add(name, "counter", help, {{"", value}}); }
  void gauge(const std::string& name, const char* help, double value) { add(name, "gauge", help, {{"", value}}); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string label(const char* name, const std::string& value) { return absl::StrCat("{", name, "=\"", value, "\"}"); }

double number(std::uint64_t value) { return static_cast<double>(value); }

void add_users(Page& page, const std::map<uid_t, UserCounters>& users) {
  Samples outcomes, kernels, bytes, refused, cached_bytes, cached_entries;
  for (const auto& [user, counters] : users) {
    const std::string uid = absl::StrCat(user);
    const auto outcome = [&](const char* name, std::uint64_t value) {
      outcomes.emplace_back(absl::StrCat("{uid=\"", uid, "\",outcome=\"", name, "\"}"), number(value));
    };
    outcome("hit", counters.hits);
    outcome("miss", counters.misses);
    outcome("joined", counters.joined);
    outcome("error", counters.errors);
    kernels.emplace_back(label("uid", uid), number(counters.kernels_compiled));
    bytes.emplace_back(label("uid", uid), number(counters.bytes_stored));
    refused.emplace_back(label("uid", uid), number(counters.over_quota));
    cached_bytes.emplace_back(label("uid", uid), number(counters.in_cache.bytes));
    cached_entries.emplace_back(label("uid", uid), number(counters.in_cache.entries));
  }
  page.add("hearth_user_prepares_total", "counter", "Answers to Prepare, by user and outcome.", outcomes);
  page.add("hearth_user_kernels_compiled_total", "counter", "Kernels compiled for a user.", kernels);
  page.add("hearth_user_stored_bytes_total", "counter", "Bytes of artifacts stored for a user.", bytes);
  page.add("hearth_user_over_quota_total", "counter",
           "Requests of a user that were refused since the quota was used up.", refused);
  page.add("hearth_user_cache_bytes", "gauge", "Bytes of the cache that were made for a user.", cached_bytes);
  page.add("hearth_user_cache_entries", "gauge", "Entries of the cache that were made for a user.", cached_entries);
}

void add_remote(Page& page, const v1::RemoteStats& remote) {
  page.add("hearth_remote_lookups_total", "counter", "Look-ups in the cache beyond this node, by outcome.",
           {{label("outcome", "hit"), number(remote.hits())},
            {label("outcome", "miss"), number(remote.misses())},
            {label("outcome", "late"), number(remote.late())},
            {label("outcome", "error"), number(remote.errors())},
            {label("outcome", "incomplete"), number(remote.incomplete())},
            {label("outcome", "unsigned"), number(remote.unsigned_results())}});
  page.add("hearth_remote_results_sent_total", "counter", "Results for the cache beyond this node, by outcome.",
           {{label("outcome", "sent"), number(remote.sent())},
            {label("outcome", "error"), number(remote.send_errors())},
            {label("outcome", "dropped"), number(remote.send_drops())}});
  page.counter("hearth_remote_hedges_total", "Look-ups that a second server was asked for, too.",
               number(remote.hedges()));
  page.counter("hearth_remote_breaker_openings_total", "How often a server was no longer asked.",
               number(remote.breaker_openings()));
  page.gauge("hearth_remote_asked", "1 while a server beyond this node is asked.", remote.is_asked() ? 1 : 0);
}

}  // namespace

std::string metrics_text(const v1::StatsResponse& stats, const std::map<uid_t, UserCounters>& users,
                         const Histograms& times) {
  Page page;
  page.add(
      "hearth_build_info", "gauge", "1, with the build in its labels.",
      {{absl::StrCat("{version=\"", stats.version(), "\",build_id=\"", stats.build_id().substr(0, 12), "\"}"), 1}});
  page.gauge("hearth_up_seconds", "Seconds since the start.", stats.uptime_s());
  page.gauge("hearth_ready", "1 when all parts work, 0 when degraded.", stats.health() == "ready" ? 1 : 0);
  page.counter("hearth_prepare_requests_total", "Prepare calls that arrived.", number(stats.requests()));
  page.add("hearth_prepares_total", "counter", "Answers to Prepare, by outcome.",
           {{label("outcome", "hit"), number(stats.plan_hits())},
            {label("outcome", "miss"), number(stats.plan_misses())},
            {label("outcome", "joined"), number(stats.plan_joined())},
            {label("outcome", "error"), number(stats.plan_errors())}});
  const auto of = [&](Timed what) { return times[static_cast<std::size_t>(what)]; };
  page.histogram("hearth_prepare_seconds", "Time from a Prepare call's arrival to its answer.", "outcome",
                 {{"hit", of(Timed::kPrepareHit)},
                  {"miss", of(Timed::kPrepareMiss)},
                  {"joined", of(Timed::kPrepareJoined)},
                  {"error", of(Timed::kPrepareError)}});
  page.histogram("hearth_queue_seconds", "Time that jobs waited for a worker.", "", {{"", of(Timed::kQueue)}});
  page.histogram("hearth_job_seconds", "Time that workers took for a job.", "job",
                 {{"lower", of(Timed::kLower)}, {"compile", of(Timed::kCompile)}, {"blob", of(Timed::kBlob)}});
  page.add("hearth_queued_jobs", "gauge", "Jobs that wait for a worker.",
           {{label("class", "compiler"), number(stats.queued_jobs())},
            {label("class", "blob"), number(stats.queued_blobs())}});
  page.counter("hearth_sealed_misses_total", "Plans that were not in the cache where nothing may be compiled.",
               number(stats.sealed_misses()));
  page.gauge("hearth_prepares_in_flight", "Prepare calls under way.", number(stats.requests_in_flight()));
  page.add("hearth_kernels_total", "counter", "Kernels of plans that were built, by where they came from.",
           {{label("from", "compiler"), number(stats.kernels_compiled())},
            {label("from", "cache"), number(stats.kernel_hits())},
            {label("from", "another_build"), number(stats.kernel_joined())}});
  page.add("hearth_blob_requests_total", "counter", "Answers to CompileBlob, by outcome.",
           {{label("outcome", "hit"), number(stats.blob_hits())},
            {label("outcome", "miss"), number(stats.blob_misses())},
            {label("outcome", "joined"), number(stats.blob_joined())},
            {label("outcome", "error"), number(stats.blob_errors())}});
  page.add(
      "hearth_workers", "gauge", "Worker processes that live.",
      {{label("class", "compiler"), number(stats.workers())}, {label("class", "blob"), number(stats.blob_workers())}});
  page.counter("hearth_worker_crashes_total", "Workers that died at work.", number(stats.worker_crashes()));
  page.counter("hearth_worker_timeouts_total", "Workers that took too long.", number(stats.worker_timeouts()));
  page.gauge("hearth_cache_bytes", "Size of the cache on disk.", number(stats.cache_bytes()));
  page.gauge("hearth_cache_limit_bytes", "Its limit; 0: none.", number(stats.cache_limit_bytes()));
  page.gauge("hearth_cache_entries", "Plans, kernels and tuning records in it.", number(stats.cache_entries()));
  page.counter("hearth_cache_evicted_total", "Files that made room for others.", number(stats.evicted()));
  page.counter("hearth_cache_quarantined_total", "Damaged files that were moved away.", number(stats.quarantined()));
  if (stats.has_remote()) add_remote(page, stats.remote());
  page.gauge("hearth_leases", "Plans that clients hold.", number(stats.leases()));
  page.gauge("hearth_sessions", "Client processes with a session.", number(stats.sessions()));
  page.gauge("hearth_connections", "Client connections.", number(stats.connections()));
  page.counter("hearth_refused_connections_total", "Connections over the limits.", number(stats.refused_connections()));
  page.gauge("hearth_shared_weight_bytes", "Memory of weights that processes share.", number(stats.weight_bytes()));
  page.gauge("process_resident_memory_bytes", "Resident memory of the daemon.", stats.rss_bytes());
  add_users(page, users);
  return page.take();
}

}  // namespace hearth::daemon
