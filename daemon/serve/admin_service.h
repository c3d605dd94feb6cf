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

#include "daemon/async/executor.h"
#include "daemon/serve/unary_call.h"
#include "daemon/setting.h"
#include "daemon/sockets/listener.h"
#include "daemon/store/plan_reads.h"
#include "daemon/store/tuning_table.h"
#include "daemon/weights/weight_server.h"
#include "daemon/worker_pool/worker_pool.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

class CompilerFlavour;
class RemoteCache;
struct RemoteSettings;

enum class AdminRights { kRead, kOwner };

struct AdminServices {
  CallServices calls;
  WorkerPool* pool = nullptr;
  WorkerPool* blob_pool = nullptr;
  cache::KernelsCache* cache = nullptr;
  TuningTable* tuning = nullptr;
  PlanReads* plan_reads = nullptr;
  Executor* executor = nullptr;  // of maintenance alone: walks over the whole cache keep no request waiting
  const Listener* listener = nullptr;
  const WeightServer* weights = nullptr;
  const RemoteCache* remote = nullptr;  // null: there is none
  const RemoteSettings* remote_settings = nullptr;
  CompilerFlavour* flavour = nullptr;
  std::uint64_t weights_limit_bytes = 0;
  std::string build_id;
  std::string cache_dir;
  std::string cache_reason;  // why it is there, and where what is new goes
  std::string log_file;
  std::vector<SettingInForce> settings;
  std::chrono::steady_clock::time_point started_at;
  std::function<std::string()> health;
  std::function<bool()> workers_checked;
  std::function<void()> shut_down;
};

using AdminServiceOfBytes = v1::AdminService::WithRawCallbackMethod_Stats<
    v1::AdminService::WithRawCallbackMethod_CacheList<v1::AdminService::WithRawCallbackMethod_CacheVerify<
        v1::AdminService::WithRawCallbackMethod_CacheClear<v1::AdminService::WithRawCallbackMethod_RemoveBlobs<
            v1::AdminService::WithRawCallbackMethod_RemoveModel<v1::AdminService::WithRawCallbackMethod_RemoteCheck<
                v1::AdminService::WithRawCallbackMethod_ExportPack<v1::AdminService::WithRawCallbackMethod_ImportEntry<
                    v1::AdminService::WithRawCallbackMethod_ListPacks<
                        v1::AdminService::WithRawCallbackMethod_Shutdown<v1::AdminService::Service>>>>>>>>>>>;

class AdminServiceImpl : public AdminServiceOfBytes {
 public:
  using Bytes = grpc::ByteBuffer;

  AdminServiceImpl(AdminServices services, AdminRights rights) : services_(std::move(services)), rights_(rights) {}

  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* CacheList(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* CacheVerify(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* CacheClear(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* RemoveBlobs(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* RemoveModel(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* RemoteCheck(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  // pack_calls.cpp
  grpc::ServerUnaryReactor* ExportPack(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* ImportEntry(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* ListPacks(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;
  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext*, const Bytes*, Bytes*) override;

  // What hearth stats shows.
  v1::StatsResponse stats() const;

 private:
  struct Call {
    grpc::CallbackServerContext* context;
    const Bytes* bytes;
    Bytes* response;
  };
  // Reads the request and answers with what `work` makes of it: on the executor, or now where that is null. `owners`
  // names a call that only the owner may make.
  template <class Request, class Response>
  grpc::ServerUnaryReactor* answer(const Call& call, Executor* executor, const char* owners,
                                   std::function<void(const Request&, Response&)> work);
  // The owner's alone: once it is known which compiler this node's is, on the executor.
  template <class Request, class Response>
  grpc::ServerUnaryReactor* answer_by_flavour(
      const Call& call, const char* what,
      std::function<absl::StatusOr<Response>(const Request&, const Digest& flavour)> work);
  v1::StatsResponse stats_for_all() const;
  absl::Status check_owner(const char* what) const;
  absl::Status check_insight(const Call& call, bool is_stats) const;

  const AdminServices services_;
  const AdminRights rights_;
};

}  // namespace hearth::daemon
