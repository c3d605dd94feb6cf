// AdminService of the protos: counters, the cache's contents, shutdown. Translates only. Thread-safe.
//
// One object serves the owner's socket and answers everything; another one serves the clients' socket and refuses, with
// PERMISSION_DENIED, what changes or stops the daemon. Example:
//   AdminServiceImpl service(services, AdminRights::kOwner);
//   RpcServer::start({&service}, limits);
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "daemon/serve/listener.h"
#include "daemon/serve/prepare_call.h"
#include "daemon/weights/weight_server.h"
#include "daemon/workers/worker_pool.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

enum class AdminRights { kRead, kOwner };

struct AdminServices {
  CallServices calls;
  WorkerPool* pool = nullptr;
  WorkerPool* blob_pool = nullptr;
  cache::KernelsCache* cache = nullptr;
  TuningTable* tuning = nullptr;
  Executor* executor = nullptr;  // of maintenance alone: walks over the whole cache keep no request waiting
  const Listener* listener = nullptr;
  const WeightServer* weights = nullptr;
  std::uint64_t weights_limit_bytes = 0;
  std::string build_id;
  std::string cache_dir;
  std::string log_file;
  std::chrono::steady_clock::time_point started_at;
  std::function<std::string()> health;
  std::function<bool()> workers_checked;
  std::function<void()> shut_down;
};

class AdminServiceImpl : public v1::AdminService::CallbackService {
 public:
  AdminServiceImpl(AdminServices services, AdminRights rights) : services_(std::move(services)), rights_(rights) {}

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
  grpc::ServerUnaryReactor* later(std::function<void()> work);
  // The same of work that only the owner may ask for.
  grpc::ServerUnaryReactor* later_for_owner(const char* what, std::function<void()> work);
  grpc::ServerUnaryReactor* finish_now(const grpc::Status& status);
  grpc::Status check_owner(const char* what) const;

  const AdminServices services_;
  const AdminRights rights_;
};

}  // namespace hearth::daemon
