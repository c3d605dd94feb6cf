#include "daemon/serve/admin_service.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "daemon/version.h"
#include "daemon/workers/worker_usage.h"
#include "kernels_cache/blob_key.h"
#include "proto/socket_path.h"

namespace hearth::daemon {
namespace {

// A unary call that has begun; keeps the daemon from being idle until gRPC is done with it.
class AdminCall : public grpc::ServerUnaryReactor {
 public:
  explicit AdminCall(Activity* activity) : token_(activity->begin()) {}
  void OnDone() override { delete this; }

 private:
  const Activity::Token token_;
};

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
    case cache::EntryKind::kBlobRecords:
      return "blob_records";
  }
  return "unknown";
}

}  // namespace

grpc::ServerUnaryReactor* AdminServiceImpl::later(std::function<void()> work) {
  auto* call = new AdminCall(services_.calls.activity);
  services_.executor->post([call, work = std::move(work)] {
    work();
    call->Finish(grpc::Status::OK);
  });
  return call;
}

grpc::ServerUnaryReactor* AdminServiceImpl::later_for_owner(const char* what, std::function<void()> work) {
  const grpc::Status allowed = check_owner(what);
  return allowed.ok() ? later(std::move(work)) : finish_now(allowed);
}

grpc::ServerUnaryReactor* AdminServiceImpl::finish_now(const grpc::Status& status) {
  auto* call = new AdminCall(services_.calls.activity);
  call->Finish(status);
  return call;
}

grpc::Status AdminServiceImpl::check_owner(const char* what) const {
  if (rights_ == AdminRights::kOwner) return grpc::Status::OK;
  return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, absl::StrCat(what, " is the owner's right: ask on ",
                                                                        admin_socket_path(services_.listener->path())));
}

grpc::ServerUnaryReactor* AdminServiceImpl::Stats(grpc::CallbackServerContext* context, const v1::StatsRequest*,
                                                  v1::StatsResponse* response) {
  const Counters counters = services_.calls.metrics->snapshot();
  const cache::CacheStats cache = services_.cache->stats();
  response->set_pid(static_cast<std::uint64_t>(::getpid()));
  response->set_version(kVersion);
  response->set_build_id(services_.build_id);
  response->set_uptime_s(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - services_.started_at).count());
  response->set_cache_dir(services_.cache_dir);
  response->set_cache_bytes(cache.bytes);
  response->set_cache_limit_bytes(cache.limit_bytes);
  response->set_cache_entries(cache.entries);
  response->set_requests(counters.requests);
  response->set_plan_hits(counters.plan_hits);
  response->set_plan_misses(counters.plan_misses);
  response->set_plan_joined(counters.plan_joined);
  response->set_plan_errors(counters.plan_errors);
  response->set_requests_in_flight(counters.requests_in_flight);
  response->set_kernels_compiled(counters.kernels_compiled);
  response->set_kernel_hits(counters.kernel_hits);
  response->set_kernel_joined(counters.kernel_joined);
  response->set_quarantined(cache.quarantined);
  response->set_workers(services_.pool->num_live_workers());
  response->set_worker_crashes(counters.worker_crashes);
  response->set_worker_timeouts(counters.worker_timeouts);
  response->set_leases(services_.calls.leases->num_leases());
  response->set_sessions(services_.calls.leases->num_sessions());
  response->set_health(services_.health());
  response->set_workers_checked(services_.workers_checked());
  response->set_log_file(services_.log_file);
  response->set_connections(services_.listener->num_connections());
  response->set_rss_bytes(static_cast<double>(resident_bytes(::getpid())));
  response->set_blob_requests(counters.blob_requests);
  response->set_blob_hits(counters.blob_hits);
  response->set_blob_misses(counters.blob_misses);
  response->set_blob_joined(counters.blob_joined);
  response->set_blob_errors(counters.blob_errors);
  response->set_blobs_compiled(counters.blobs_compiled);
  response->set_blob_workers(services_.blob_pool->num_live_workers());
  const SandboxStatus &sandbox = *services_.pool->command().sandbox, &blobs = *services_.blob_pool->command().sandbox;
  response->set_sandbox(std::string(name_of(sandbox.setting())));
  *response->mutable_worker_sandbox() = sandbox.last();
  *response->mutable_blob_worker_sandbox() = blobs.last();
  response->set_blob_requests_in_flight(counters.blob_requests_in_flight);
  const WeightStats weights = services_.weights->stats();
  response->set_weight_blocks(weights.blocks);
  response->set_weight_bytes(weights.bytes);
  response->set_weight_limit_bytes(services_.weights_limit_bytes);
  response->set_weight_users(weights.users);
  response->set_weights_found(weights.found);
  response->set_max_leases(services_.calls.leases->max_leases());
  return finish_now(grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheList(grpc::CallbackServerContext*, const v1::CacheListRequest* request,
                                                      v1::CacheListResponse* response) {
  return later([cache = services_.cache, limit = request->limit(), response] {
    for (const cache::CacheEntryInfo& info : cache->list(limit)) {
      v1::CacheEntry& entry = *response->add_entries();
      entry.set_key(to_bytes(info.key));
      entry.set_kind(name_of(info.kind));
      entry.set_bytes(info.bytes);
      entry.set_created_unix_s(info.created_unix_s);
      entry.set_last_used_unix_s(info.last_used_unix_s);
      entry.set_leased(info.leased);
    }
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheVerify(grpc::CallbackServerContext*, const v1::CacheVerifyRequest*,
                                                        v1::CacheVerifyResponse* response) {
  return later_for_owner("CacheVerify", [cache = services_.cache, tuning = services_.tuning, response] {
    const cache::VerifyReport report = cache->verify();
    tuning->forget();
    response->set_checked(report.checked);
    response->set_quarantined(report.quarantined);
    for (const std::string& problem : report.problems) response->add_problems(problem);
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::CacheClear(grpc::CallbackServerContext*,
                                                       const v1::CacheClearRequest* request,
                                                       v1::CacheClearResponse* response) {
  const bool records_too = request->tuning();
  return later_for_owner("CacheClear", [cache = services_.cache, tuning = services_.tuning, records_too, response] {
    if (records_too) tuning->forget();
    const cache::ClearReport report = cache->clear(/*keep_tuning=*/!records_too);
    response->set_kept_tuning(report.kept_tuning);
    response->set_removed(report.removed);
    response->set_kept_leased(report.kept_leased);
    response->set_freed_bytes(report.freed_bytes);
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::RemoveBlobs(grpc::CallbackServerContext*,
                                                        const v1::RemoveBlobsRequest* request,
                                                        v1::RemoveBlobsResponse* response) {
  std::set<std::string> stems(request->stems().begin(), request->stems().end());
  const bool all = request->all();
  return later_for_owner("RemoveBlobs", [cache = services_.cache, stems = std::move(stems), all, response] {
    const cache::ClearReport report = cache->remove_blobs([&](const cache::KeyMaterial& material) {
      const std::string stem = cache::blob_stem(material);
      return all || (!stem.empty() && stems.count(stem) > 0);
    });
    response->set_removed(report.removed);
    response->set_kept_leased(report.kept_leased);
    response->set_freed_bytes(report.freed_bytes);
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::Shutdown(grpc::CallbackServerContext*, const v1::ShutdownRequest*,
                                                     v1::ShutdownResponse*) {
  const grpc::Status allowed = check_owner("Shutdown");
  if (allowed.ok()) services_.shut_down();
  return finish_now(allowed);
}

}  // namespace hearth::daemon
