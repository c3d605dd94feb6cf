#include "client/connection/plan_fetcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/span.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_weights.h"
#include "client/trace/encoded_graph.h"
#include "runtime/devices/devices.h"

namespace hearth::client {
namespace {

PrepareProgress to_progress(const v1::PrepareProgress& wire) {
  PrepareProgress progress;
  switch (wire.state()) {
    case v1::PrepareProgress::LOWERING:
      progress.state = PrepareProgress::State::kLowering;
      break;
    case v1::PrepareProgress::COMPILING:
      progress.state = PrepareProgress::State::kCompiling;
      break;
    default:
      progress.state = PrepareProgress::State::kQueued;
      break;
  }
  progress.kernels_done = wire.kernels_done();
  progress.kernels_total = wire.kernels_total();
  return progress;
}

// An artifact that is gone, damaged or unreadable by path; the daemon may still give its bytes or make it again.
bool may_be_mended(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status) || absl::IsPermissionDenied(status);
}

// By path where this user can open the daemon's files, else by descriptors that it hands out, else as bytes.
absl::StatusOr<std::vector<runtime::ArtifactSource>> sources(DaemonChannel& channel, DaemonWeights& files,
                                                             const v1::PrepareResult& result, bool by_file,
                                                             DaemonChannel::Deadline deadline) {
  std::vector<std::string> not_by_path;
  for (const v1::ArtifactRef& ref : result.artifacts())
    if (ref.path().empty()) not_by_path.push_back(ref.digest());
  std::map<std::string, std::string> read;
  if (by_file && !not_by_path.empty()) read = files.read_artifacts(not_by_path);
  std::vector<runtime::ArtifactSource> artifacts;
  for (const v1::ArtifactRef& ref : result.artifacts()) {
    runtime::ArtifactSource source{ref.digest(), by_file ? ref.path() : std::string(), {}};
    if (const auto found = read.find(ref.digest()); found != read.end()) {
      source.bytes = std::move(found->second);
    } else if (source.path.empty()) {
      HEARTH_ASSIGN_OR_RETURN(std::string bytes, channel.fetch_artifact(ref.digest(), deadline));
      source.bytes = std::move(bytes);
    }
    artifacts.push_back(std::move(source));
  }
  return artifacts;
}

// Whose cache this user's processes read by descriptors.
bool is_others_daemon(const std::string& socket_path) {
  struct stat info{};
  return ::stat(socket_path.c_str(), &info) == 0 && info.st_uid != ::geteuid();
}

// Fills in `stored`'s plan and source.
absl::Status load(DaemonChannel& channel, DaemonWeights& weights, const EncodedGraph& traced,
                  const v1::PrepareResult& result, int threads, const PrepareConfig& config, bool by_file,
                  DaemonChannel::Deadline deadline, FetchedPlan& stored) {
  Span reading("read kernels", "client");
  absl::StatusOr<std::vector<runtime::ArtifactSource>> artifacts = sources(channel, weights, result, by_file, deadline);
  reading.end();
  HEARTH_RETURN_IF_ERROR(artifacts.status());
  HEARTH_ASSIGN_OR_RETURN(const runtime::Device* const device, runtime::find_device(config.device));
  runtime::LoadRequest request;
  request.device = device;
  request.plan = result.plan();
  request.artifacts = *std::move(artifacts);
  request.host = {threads, config.subnormals.value_or(Subnormals::kResults)};
  for (const auto& [name, data] : traced.parameters) request.parameters[name] = {data.data, data.size, data.owner};
  if (config.progress) {
    const auto kernels = static_cast<std::uint32_t>(result.artifacts_size());
    request.progress = [&config, kernels](std::uint64_t done, std::uint64_t total) {
      config.progress({PrepareProgress::State::kPacking, kernels, kernels, done, total});
    };
  }
  const bool shares = config.share_weights && device->shares_weights();
  const Span loading("load the plan", "client");
  HEARTH_ASSIGN_OR_RETURN(auto plan, runtime::LoadedPlan::create(request, shares ? &weights : nullptr));
  stored.plan = std::move(plan);
  stored.plan_bytes = result.plan();
  stored.source = std::move(request);
  stored.source.progress = nullptr;  // the caller's, for this call
  stored.source.plan = {};
  return absl::OkStatus();
}

// When a call took too long, a daemon that still answers was at work on the plan, and keeps what it has of it.
absl::Status explained(const absl::Status& status, DaemonChannel& channel, const PrepareConfig& config,
                       DaemonChannel::Deadline deadline) {
  constexpr std::chrono::seconds kLook{1};
  // The daemon ends a call by a clock of its own, of whole milliseconds, which may be a little ahead of this one.
  constexpr std::chrono::milliseconds kClocksDiffer{100};
  const bool is_ours = absl::IsDeadlineExceeded(status) && std::chrono::steady_clock::now() + kClocksDiffer >= deadline;
  if (!is_ours || !channel.stats(kLook).ok()) return status;
  return absl::DeadlineExceededError(
      str_cat("the plan was not ready within ", std::chrono::duration<double>(config.deadline).count(),
              " s; the kernels that were compiled are kept: another try goes on from there, or allow more time"));
}

}  // namespace

namespace {

// Whose lease is the caller's. `stats`: what the daemon says of it.
absl::StatusOr<v1::PrepareResult> ask(DaemonChannel& channel, const v1::PrepareRequest& request,
                                      const PrepareConfig& config, DaemonChannel::Deadline deadline,
                                      PrepareStats& stats) {
  std::function<void(const v1::PrepareProgress&)> progress;
  if (config.progress) progress = [&](const v1::PrepareProgress& wire) { config.progress(to_progress(wire)); };
  absl::StatusOr<v1::PrepareResult> result = channel.prepare(request, deadline, progress, &stats.rpc_ms);
  if (!result.ok()) return explained(result.status(), channel, config, deadline);
  stats.compiled_kernels = result->compiled_kernels();
  stats.cache_hits = result->cache_hits();
  stats.plan_hit = result->plan_hit();
  stats.joined = result->joined();
  stats.plan_key = result->plan_key();
  return result;
}

}  // namespace

absl::StatusOr<PrepareStats> compile_plan(DaemonChannel& channel, v1::PrepareRequest request,
                                          const PrepareConfig& config, DaemonChannel::Deadline deadline) {
  PrepareStats stats;
  HEARTH_ASSIGN_OR_RETURN(const v1::PrepareResult result, ask(channel, request, config, deadline, stats));
  channel.release_lease(result.lease_id());
  HEARTH_ASSIGN_OR_RETURN(const runtime::Plan plan, runtime::parse_plan(result.plan()));
  stats.kernels = static_cast<std::uint32_t>(plan.kernels.size());
  return stats;
}

absl::StatusOr<FetchedPlan> fetch_plan(DaemonChannel& channel, v1::PrepareRequest request, const EncodedGraph& traced,
                                       const PrepareConfig& config, DaemonChannel::Deadline deadline) {
  const int threads = static_cast<int>(request.target().threads());
  absl::Status last;
  for (int attempt = 0; attempt < 2; ++attempt) {
    FetchedPlan stored;
    DaemonWeights weights(channel.socket_path(), deadline, channel.last_peer(), channel.take_files_connection());
    if (is_others_daemon(channel.socket_path())) weights.connect_early();
    HEARTH_ASSIGN_OR_RETURN(const v1::PrepareResult result, ask(channel, request, config, deadline, stored.stats));
    weights.set_known(channel.last_peer());
    stored.lease_id = result.lease_id();
    if (config.progress) {
      const auto count = static_cast<std::uint32_t>(result.artifacts_size());
      config.progress({.state = PrepareProgress::State::kLoading, .kernels_done = count, .kernels_total = count});
    }
    absl::Status loaded = load(channel, weights, traced, result, threads, config, /*by_file=*/true, deadline, stored);
    if (may_be_mended(loaded)) {
      last = loaded;
      loaded = load(channel, weights, traced, result, threads, config, /*by_file=*/false, deadline, stored);
    }
    channel.keep_files_connection(weights.leave());
    if (loaded.ok()) {
      stored.stats.kernels = static_cast<std::uint32_t>(stored.plan->plan().kernels.size());
      const runtime::WeightFacts& weights = stored.plan->weights();
      stored.stats.once_launches = weights.once_launches;
      stored.stats.shared_weight_bytes = weights.shared ? weights.block_bytes : 0;
      stored.stats.weights_found = weights.found;
      return stored;
    }
    channel.release_lease(result.lease_id());
    if (!may_be_mended(loaded)) return loaded;
    if (last.ok()) last = loaded;
  }
  return last;
}

}  // namespace hearth::client
