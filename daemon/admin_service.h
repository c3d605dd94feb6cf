// AdminService of the protos: counters, the cache's contents, shutdown. Translates only. Thread-safe.
//   AdminServiceImpl service({.metrics = &metrics, …});
//   builder.RegisterService(&service);
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "daemon/prepare_call.h"
#include "daemon/worker_pool.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

struct AdminServices {
  CallServices calls;
  WorkerPool* pool = nullptr;
  WorkerPool* blob_pool = nullptr;
  cache::KernelsCache* cache = nullptr;
  TuningTable* tuning = nullptr;
  Executor* executor = nullptr;
  std::string build_id;
  std::string cache_dir;
  std::chrono::steady_clock::time_point started_at;
  std::function<void()> shut_down;
};

class AdminServiceImpl : public v1::AdminService::CallbackService {
 public:
  explicit AdminServiceImpl(AdminServices services) : services_(std::move(services)) {}

  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext*, const v1::StatsRequest*, v1::StatsResponse*) override;
  grpc::ServerUnaryReactor* CacheList(grpc::CallbackServerContext*, const v1::CacheListRequest*,
                                      v1::CacheListResponse*) override;
  grpc::ServerUnaryReactor* CacheVerify(grpc::CallbackServerContext*, const v1::CacheVerifyRequest*,
                                        v1::CacheVerifyResponse*) override;
  grpc::ServerUnaryReactor* CacheClear(grpc::CallbackServerContext*, const v1::CacheClearRequest*,
                                       v1::CacheClearResponse*) override;
  grpc::ServerUnaryReactor* RemoveBlobs(grpc::CallbackServerContext*, const v1::RemoveBlobsRequest*,
                                        v1::RemoveBlobsResponse*) override;
  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext*, const v1::ShutdownRequest*,
                                     v1::ShutdownResponse*) override;

 private:
  // Runs `work` on the executor, then finishes the call with OK.
  grpc::ServerUnaryReactor* later(grpc::CallbackServerContext* context, std::function<void()> work);

  const AdminServices services_;
};

}  // namespace hearth::daemon
