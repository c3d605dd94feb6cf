#include "daemon/serve/admin_service.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/printable.h"
#include "daemon/metrics.h"
#include "daemon/prepare/leases.h"
#include "daemon/remote/remote_cache.h"
#include "daemon/remote/remote_check.h"
#include "daemon/serve/admin_answer.h"
#include "daemon/store/artifact_grants.h"
#include "daemon/version.h"
#include "daemon/worker_pool/worker_usage.h"
#include "kernels_cache/blob_key.h"
#include "proto/socket_path.h"

namespace hearth::daemon {
namespace {

const char* name_of(cache::EntryKind kind) {
  switch (kind) {
    case cache::EntryKind::kPlan:
      return "plan";
    case cache::EntryKind::kKernel:
      return "kernel";
    case cache::EntryKind::kTuning:
      return "tuning";
    case cache::EntryKind::kBlob:
      return "blob";
    case cache::EntryKind::kRecords:
      return "records";
  }
  return "unknown";
}

void tell(const SettingInForce& setting, v1::SettingInForce& shown) {
  shown.set_name(setting.name);
  shown.set_value(printable(setting.value));
  shown.set_from(printable(setting.from));
}

void tell(const RemoteCache& remote, v1::RemoteStats& shown) {
  const RemoteCounters counters = remote.counters();
  const auto lookups = [&](RemoteOutcome outcome) { return counters.lookups[static_cast<std::size_t>(outcome)]; };
  for (const RemoteAddress& address : remote.settings().addresses) shown.add_addresses(printable(address.text));
  shown.set_is_asked(remote.is_asked());
  shown.set_is_writer(remote.is_writer());
  shown.set_problem(std::string(remote.health().message()));
  shown.set_hits(lookups(RemoteOutcome::kHit));
  shown.set_misses(lookups(RemoteOutcome::kMiss));
  shown.set_late(lookups(RemoteOutcome::kLate));
  shown.set_errors(lookups(RemoteOutcome::kError));
  shown.set_incomplete(lookups(RemoteOutcome::kIncomplete));
  shown.set_unsigned_results(lookups(RemoteOutcome::kUnsigned));
  shown.set_hedges(counters.hedges);
  shown.set_breaker_openings(counters.breaker_openings);
  shown.set_sent(counters.uploads.sent);
  shown.set_send_errors(counters.uploads.failed);
  shown.set_send_drops(counters.uploads.dropped);
}

}  // namespace

absl::Status AdminServiceImpl::check_owner(const char* what) const {
  if (rights_ == AdminRights::kOwner) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(what, " is the owner's right: ask on ", admin_socket_path(services_.listener->path())));
}

// What is in the cache says what other users have compiled.
absl::Status AdminServiceImpl::check_insight(const Call& call, bool is_stats) const {
  if (is_stats || ArtifactGrants::is_trusted(services_.calls.clients->of(*call.context).uid)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "what the cache of all users holds is for the daemon's operator (root, or the daemon's user) to see");
}

// The part of stats() that tells nothing of other users.
v1::StatsResponse AdminServiceImpl::stats_for_all() const {
  const v1::StatsResponse all = stats();
  v1::StatsResponse shown;
  shown.set_pid(all.pid());
  shown.set_version(all.version());
  shown.set_build_id(all.build_id());
  shown.set_uptime_s(all.uptime_s());
  shown.set_health(all.health());
  shown.set_without_counters(true);
  shown.set_workers_checked(all.workers_checked());
  shown.set_sandbox(all.sandbox());
  *shown.mutable_worker_sandbox() = all.worker_sandbox();
  *shown.mutable_blob_worker_sandbox() = all.blob_worker_sandbox();
  for (const SettingInForce& setting : services_.settings) {
    if (!setting.is_private) tell(setting, *shown.add_settings());
  }
  return shown;
}

v1::StatsResponse AdminServiceImpl::stats() const {
  v1::StatsResponse stats;
  if (services_.remote != nullptr) tell(*services_.remote, *stats.mutable_remote());
  const Counters counters = services_.calls.metrics->snapshot();
  const cache::CacheStats cache = services_.cache->stats();
  stats.set_pid(static_cast<std::uint64_t>(::getpid()));
  stats.set_version(kVersion);
  stats.set_build_id(services_.build_id);
  stats.set_uptime_s(std::chrono::duration<double>(std::chrono::steady_clock::now() - services_.started_at).count());
  stats.set_cache_dir(services_.cache_dir);
  stats.set_cache_reason(services_.cache_reason);
  stats.set_cache_bytes(cache.bytes);
  stats.set_cache_limit_bytes(cache.limit_bytes);
  stats.set_cache_entries(cache.entries);
  stats.set_requests(counters.requests);
  stats.set_plan_hits(counters.plan_hits);
  stats.set_plan_misses(counters.plan_misses);
  stats.set_plan_joined(counters.plan_joined);
  stats.set_plan_errors(counters.plan_errors);
  stats.set_requests_in_flight(counters.requests_in_flight);
  stats.set_kernels_compiled(counters.kernels_compiled);
  stats.set_kernel_hits(counters.kernel_hits);
  stats.set_kernel_joined(counters.kernel_joined);
  stats.set_quarantined(cache.quarantined);
  stats.set_evicted(cache.evicted);
  stats.set_sealed_misses(counters.sealed_misses);
  stats.set_queued_jobs(services_.pool->num_queued());
  stats.set_queued_blobs(services_.blob_pool->num_queued());
  stats.set_workers(services_.pool->num_live_workers());
  stats.set_worker_crashes(counters.worker_crashes);
  stats.set_worker_timeouts(counters.worker_timeouts);
  stats.set_leases(services_.calls.leases->num_leases());
  stats.set_sessions(services_.calls.leases->num_sessions());
  stats.set_health(services_.health());
  stats.set_workers_checked(services_.workers_checked());
  stats.set_log_file(services_.log_file);
  stats.set_connections(services_.listener->num_connections());
  stats.set_refused_connections(services_.listener->num_refused_connections());
  stats.set_rss_bytes(static_cast<double>(resident_bytes(::getpid())));
  stats.set_blob_requests(counters.blob_requests);
  stats.set_blob_hits(counters.blob_hits);
  stats.set_blob_misses(counters.blob_misses);
  stats.set_blob_joined(counters.blob_joined);
  stats.set_blob_errors(counters.blob_errors);
  stats.set_blobs_compiled(counters.blobs_compiled);
  stats.set_blob_workers(services_.blob_pool->num_live_workers());
  const SandboxStatus &sandbox = *services_.pool->command().sandbox, &blobs = *services_.blob_pool->command().sandbox;
  stats.set_sandbox(std::string(name_of(sandbox.setting())));
  *stats.mutable_worker_sandbox() = sandbox.last();
  *stats.mutable_blob_worker_sandbox() = blobs.last();
  stats.set_blob_requests_in_flight(counters.blob_requests_in_flight);
  const WeightStats weights = services_.weights->stats();
  stats.set_weight_blocks(weights.blocks);
  stats.set_weight_bytes(weights.bytes);
  stats.set_weight_limit_bytes(services_.weights_limit_bytes);
  stats.set_weight_users(weights.users);
  stats.set_weights_found(weights.found);
  stats.set_max_leases(services_.calls.leases->max_leases());
  for (const SettingInForce& setting : services_.settings) tell(setting, *stats.add_settings());
  return stats;
}

grpc::ServerUnaryReactor* AdminServiceImpl::Stats(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                  Bytes* response) {
  return answer<v1::StatsRequest, v1::StatsResponse>(
      {context, bytes, response}, nullptr, nullptr,
      [this, context](const v1::StatsRequest&, v1::StatsResponse& answer) {
        const bool sees_all = ArtifactGrants::is_trusted(services_.calls.clients->of(*context).uid);
        answer = sees_all ? stats() : stats_for_all();
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheList(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                      Bytes* response) {
  return answer<v1::CacheListRequest, v1::CacheListResponse>(
      {context, bytes, response}, services_.executor, nullptr,
      [cache = services_.cache](const v1::CacheListRequest& request, v1::CacheListResponse& list) {
        for (const cache::CacheEntryInfo& info : cache->list(request.limit(), request.model())) {
          v1::CacheEntry& entry = *list.add_entries();
          entry.set_key(to_bytes(info.key));
          entry.set_kind(name_of(info.kind));
          entry.set_bytes(info.bytes);
          entry.set_created_unix_s(info.created_unix_s);
          entry.set_last_used_unix_s(info.last_used_unix_s);
          entry.set_leased(info.leased);
          entry.set_model(info.model);
          if (info.owner != cache::kNoOwner) entry.set_user(static_cast<std::uint32_t>(info.owner));
        }
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheVerify(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                        Bytes* response) {
  return answer<v1::CacheVerifyRequest, v1::CacheVerifyResponse>(
      {context, bytes, response}, services_.executor, "CacheVerify",
      [services = services_](const v1::CacheVerifyRequest&, v1::CacheVerifyResponse& verified) {
        const cache::VerifyReport report = services.cache->verify();
        services.tuning->forget();
        services.plan_reads->forget();
        verified.set_checked(report.checked);
        verified.set_quarantined(report.quarantined);
        for (const std::string& problem : report.problems) verified.add_problems(problem);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheClear(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                       Bytes* response) {
  return answer<v1::CacheClearRequest, v1::CacheClearResponse>(
      {context, bytes, response}, services_.executor, "CacheClear",
      [services = services_](const v1::CacheClearRequest& request, v1::CacheClearResponse& cleared) {
        if (request.tuning()) services.tuning->forget();
        services.plan_reads->forget();
        const cache::ClearReport report = services.cache->clear(/*keep_tuning=*/!request.tuning());
        cleared.set_kept_tuning(report.kept_tuning);
        cleared.set_removed(report.removed);
        cleared.set_kept_leased(report.kept_leased);
        cleared.set_freed_bytes(report.freed_bytes);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::RemoveBlobs(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                        Bytes* response) {
  return answer<v1::RemoveBlobsRequest, v1::RemoveBlobsResponse>(
      {context, bytes, response}, services_.executor, "RemoveBlobs",
      [cache = services_.cache](const v1::RemoveBlobsRequest& request, v1::RemoveBlobsResponse& removed) {
        const std::set<std::string> stems(request.stems().begin(), request.stems().end());
        const cache::ClearReport report = cache->remove_blobs([&](const cache::KeyMaterial& material) {
          const std::string stem = cache::blob_stem(material);
          return request.all() || (!stem.empty() && stems.count(stem) > 0);
        });
        removed.set_removed(report.removed);
        removed.set_kept_leased(report.kept_leased);
        removed.set_freed_bytes(report.freed_bytes);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::RemoveModel(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                        Bytes* response) {
  return answer<v1::RemoveModelRequest, v1::RemoveModelResponse>(
      {context, bytes, response}, services_.executor, "RemoveModel",
      [services = services_](const v1::RemoveModelRequest& request, v1::RemoveModelResponse& removed) {
        if (request.model().empty()) return;
        services.plan_reads->forget();
        const cache::ClearReport report = services.cache->remove_model(request.model());
        removed.set_removed(report.removed);
        removed.set_kept_leased(report.kept_leased);
        removed.set_freed_bytes(report.freed_bytes);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::RemoteCheck(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                        Bytes* response) {
  return answer<v1::RemoteCheckRequest, v1::RemoteCheckResponse>(
      {context, bytes, response}, services_.executor, "RemoteCheck",
      [services = services_](const v1::RemoteCheckRequest&, v1::RemoteCheckResponse& checked) {
        if (services.remote == nullptr) return;
        for (const RemoteCheckStep& step : check_remote(services.remote->settings())) {
          v1::RemoteCheckResponse::Step& shown = *checked.add_steps();
          shown.set_address(printable(step.address));
          shown.set_name(step.name);
          shown.set_error(printable(std::string(step.status.message())));
          shown.set_detail(step.detail);
          shown.set_seconds(step.seconds);
        }
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::Shutdown(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                     Bytes* response) {
  return answer<v1::ShutdownRequest, v1::ShutdownResponse>(
      {context, bytes, response}, nullptr, "Shutdown",
      [this](const v1::ShutdownRequest&, v1::ShutdownResponse&) { services_.shut_down(); });
}

}  // namespace hearth::daemon
