#include "daemon/hearth_daemon.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/status_macros.h"
#include "daemon/cache_options.h"
#include "daemon/health.h"
#include "daemon/installation.h"
#include "daemon/pool_options.h"
#include "daemon/prepare/explainer.h"
#include "daemon/prepare/leases.h"
#include "daemon/prepare/remote_tier.h"
#include "daemon/serve/admin_service.h"
#include "daemon/serve/client_servers.h"
#include "daemon/serve/compiler_service.h"
#include "daemon/serve/metrics_text.h"
#include "daemon/serve/rpc_server.h"
#include "daemon/serve/status_server.h"
#include "daemon/sockets/listener.h"
#include "daemon/store/artifact_grants.h"
#include "daemon/trusted_file.h"
#include "daemon/tune/tuner.h"
#include "daemon/weights/weight_server.h"
#include "daemon/worker_pool/worker_usage.h"
#include "proto/socket_path.h"
#include "runtime/build_id.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kLockPatience{35'000};  // another daemon's start, or its leaving the cache
constexpr std::chrono::milliseconds kHandOverEvery{10};     // how often a draining daemon looks for its successor
constexpr std::chrono::seconds kFlushEvery{10};
constexpr std::chrono::milliseconds kHangUp{500};    // calls that outlive the drain are cancelled
constexpr std::chrono::seconds kUpgradePatience{2};  // between the programs that an upgrade replaces
constexpr std::chrono::seconds kRemoteDrain{2};      // for results that are being sent to a remote cache
constexpr unsigned kMaxExecutorThreads = 8;
constexpr unsigned kMaxBlobThreads = 4;                // that read sources and look blobs up
constexpr std::uint64_t kTrimAfterBytes = 64u << 20;   // resident, and used by nobody
constexpr std::size_t kTrimSlackBytes = 16u << 20;     // memory that is not used and may stay for the next request
constexpr std::uint64_t kMinBufferBytes = 64u << 20;   // of one process, in gRPC
constexpr std::uint64_t kMessageSlackBytes = 1 << 20;  // of a request beside its graph

absl::Status make_folders(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) {
    return absl::PermissionDeniedError(absl::StrCat("cannot create the cache folder '", path, "': ", error.message(),
                                                    "; choose another one with --cache-dir"));
  }
  return absl::OkStatus();
}

// Parsed requests and answers that are not read yet have a half of rpc_memory each, which calls wait for. One client
// gets at most an eighth of each.
constexpr std::uint64_t kMemoryShares = 2, kClientShares = 8;
MemoryBudget::Limits share_of(const Config& config) {
  const std::uint64_t share = config.rpc_memory_bytes / kMemoryShares;
  return {share, share / kClientShares};
}

// Users are told apart where several may use the daemon.
KeyNamespace keys_of(const Config& config) {
  return KeyNamespace(config.clients.is_shared() ? config.sharing : Sharing::kOwner);
}

RpcLimits rpc_limits(const Config& config) {
  RpcLimits limits;
  limits.message_bytes = config.limits.graph_bytes + kMessageSlackBytes;
  // One process may have two of its largest requests at once; gRPC itself takes some for each call.
  limits.memory_bytes = std::max(2 * limits.message_bytes, kMinBufferBytes);
  return limits;
}

}  // namespace

// Members stand in order of dependence: each may use those above it, so destruction is safe.
class HearthDaemon::Impl {
 public:
  Impl(const Config& config, std::unique_ptr<Installation> installation, std::unique_ptr<Listener> listener,
       std::unique_ptr<WeightServer> weights, std::unique_ptr<cache::KernelsCache> cache)
      : config_(config),
        installation_(std::move(installation)),
        listener_(std::move(listener)),
        weights_(std::move(weights)),
        cache_(std::move(cache)),
        store_(cache_.get(), config.memory_store_bytes),
        poison_(config.cache_dir + "/repro", std::chrono::milliseconds(config.refuse_ms)),
        remote_(config.remote.is_used() ? std::make_unique<RemoteCache>(config.remote, *config.clock) : nullptr),
        remote_entries_(remote_ ? std::make_unique<RemoteEntries>(remote_.get(), &flavour_, std::string(build_id()))
                                : nullptr),
        remote_tier_(remote_ ? std::make_unique<RemoteTier>(remote_services()) : nullptr),
        blobs_({&store_, &blob_pool_, &blob_executor_, &metrics_, config.clock, remote_entries_.get(), keys_of(config)},
               std::chrono::milliseconds(config.blob_retry_ms)),
        blob_libraries_(config.blob_libraries),
        accounts_(config.user_quotas, *config.clock),
        executor_(std::clamp(config.workers, 2u, kMaxExecutorThreads)),
        blob_executor_(std::clamp(config.workers / 2, 1u, kMaxBlobThreads)),  // calls keep the other processors
        maintenance_executor_(1),
        explanation_executor_(1),
        pool_(with_hooks(compiler_pool_options(config)), &poison_, &metrics_),
        blob_pool_(blob_pool_options(config), &poison_, &metrics_),
        tuning_(cache_.get(), std::string(build_id())),
        plan_reads_(&store_),
        ptx_(config.ptxas, &blob_pool_),
        preparer_({std::string(build_id()), &store_, &pool_, &executor_, &metrics_, &kernel_flights_, &tuning_,
                   &plan_reads_, &blobs_, &blob_libraries_, keys_of(config), &accounts_, config.sealed,
                   config.sealed_takes_older_tuning, &ptx_, remote_tier_.get(), &explanation_executor_},
                  config.limits),
        explainer_(&preparer_),
        tuner_(&preparer_, config.workers, std::chrono::milliseconds(config.tune_turn_ms), *config.clock),
        requests_(share_of(config), &executor_, *config.clock),
        answers_(share_of(config), &executor_, *config.clock),
        calls_{&preparer_, &leases_, &metrics_, &store_, &activity_, &clients_, &requests_, &answers_, &grants_},
        client_servers_([this] { return std::make_unique<ClientServices>(*this); }, rpc_limits(config)),
        owner_admin_service_(admin_services(), AdminRights::kOwner) {}

  ~Impl() {
    drain();
    if (remote_) remote_->end();
    executor_.stop();  // its steps use the pools, which are destroyed before it
    blob_executor_.stop();
    maintenance_executor_.stop();
    explanation_executor_.stop();
    ::close(stop_event_);
  }

  absl::Status serve() {
    HEARTH_RETURN_IF_ERROR(client_servers_.start());
    HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> owner,
                            RpcServer::start({&owner_admin_service_}, rpc_limits(config_)));
    owner_server_ = std::move(owner);
    accept_thread_ = std::thread([this] {
      listener_->accept_until_stopped([this](int fd, const Peer& peer) { add_client(fd, peer); },
                                      [this](int fd, const Peer& peer) { add_owner(fd, peer); },
                                      [this](const ClientId& client) { client_servers_.forget(client); });
    });
    weights_->set_open_artifact([this](uid_t user, const Digest& digest) { return open_artifact(user, digest); });
    if (absl::Status served = serve_metrics(); absl::IsInvalidArgument(served))
      return absl::Status(served.code(), absl::StrCat("the setting metrics: ", served.message()));
    if (remote_) remote_->begin();
    maintenance_thread_ = std::thread([this] { maintain(); });
    pool_.warm(1);
    return absl::OkStatus();
  }

  // An address that somebody else has is no reason not to compile: it is degraded, and tried again.
  absl::Status serve_metrics() {
    if (config_.metrics_address.empty() || status_server_) return absl::OkStatus();
    const auto metrics = [this] {
      return metrics_text(owner_admin_service_.stats(), accounts_.snapshot(cache_->stats().owners),
                          metrics_.histograms());
    };
    const auto health = [this] { return this->health(); };
    auto server =
        StatusServer::start(config_.metrics_address, config_.metrics_public, {.metrics = metrics, .health = health});
    if (server.ok()) {
      status_server_ = *std::move(server);
      spdlog::info("metrics at {}", status_server_->address());
    } else if (!std::exchange(told_of_metrics_, true)) {
      spdlog::warn("no metrics for now: {}", std::string(server.status().message()));
    }
    health_.set("metrics", server.status(), config_.clock->now());
    return server.status();
  }

  void ask_to_stop(const char* why) {
    if (!stop_asked_.exchange(true)) spdlog::info("leaving: {}", why);
    ::eventfd_write(stop_event_, 1);
  }

  bool drain() {
    if (drained_) return true;
    drained_ = true;
    bool all_ended = true;
    if (owner_server_) {
      client_servers_.set_serving(false);
      owner_server_->set_serving(false);
      cache_->begin_leaving();  // before the socket is free: a successor must know that it need not wait for long
      weights_->stop();         // its thread uses the store
      listener_->stop();
      accept_thread_.join();
      preparer_.close();
      blobs_.close();
      tuner_.stop();
      sessions_.end_all();
      const Clock::time_point give_up = Clock::machine().now() + std::chrono::milliseconds(config_.drain_ms);
      while (!(all_ended = activity_.wait_until_idle(kHandOverEvery)) && Clock::machine().now() < give_up) hand_over();
      if (!all_ended) spdlog::warn("cancelling calls that outlived the drain of {} ms", config_.drain_ms);
      if (remote_) finish_remote();
      client_servers_.shut_down(kHangUp);
      owner_server_->shut_down(kHangUp);
    }
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (maintenance_thread_.joinable()) maintenance_thread_.join();
    cache_->hand_over();
    return all_ended;
  }

  int stop_event() const { return stop_event_; }

 private:
  // What is being sent, and what was loaded and is not on disk yet.
  void finish_remote() {
    remote_->drain(kRemoteDrain);
    auto is_written = std::make_shared<std::promise<void>>();
    maintenance_executor_.post([is_written] { is_written->set_value(); });
    (void)is_written->get_future().wait_for(kRemoteDrain);
  }

  // What one client process's server serves.
  struct ClientServices : ServiceSet {
    explicit ClientServices(Impl& impl)
        : compiler(impl.calls_, &impl.explainer_, &impl.tuner_, &impl.blobs_, &impl.sessions_),
          admin(impl.admin_services(), AdminRights::kRead) {}
    std::vector<grpc::Service*> services() override { return {&compiler, &admin}; }
    CompilerServiceImpl compiler;
    AdminServiceImpl admin;
  };

  // Where several users are clients, turns and budgets are theirs, however many processes each has.
  ClientId client_of(const Peer& peer) const { return {peer.uid, config_.clients.is_shared() ? 0 : peer.pid}; }

  void add_client(int fd, const Peer& peer) {
    clients_.add(fd, client_of(peer));
    if (absl::Status added = client_servers_.add_connection(fd, {peer.uid, peer.pid}); !added.ok())
      spdlog::warn("refused a connection of process {}: {}", peer.pid, std::string(added.message()));
  }
  void add_owner(int fd, const Peer& peer) {
    clients_.add(fd, client_of(peer));
    owner_server_->add_connection(fd);
  }

  AdminServices admin_services() {
    return {.calls = calls_,
            .pool = &pool_,
            .blob_pool = &blob_pool_,
            .cache = cache_.get(),
            .tuning = &tuning_,
            .plan_reads = &plan_reads_,
            .executor = &maintenance_executor_,
            .listener = listener_.get(),
            .weights = weights_.get(),
            .remote = remote_.get(),
            .remote_settings = &config_.remote,
            .flavour = &flavour_,
            .weights_limit_bytes = config_.weights_memory_bytes,
            .build_id = std::string(build_id()),
            .cache_dir = config_.cache_below.empty() ? config_.cache_dir : config_.cache_below,
            .cache_reason = config_.cache_below.empty()
                                ? config_.cache_reason
                                : absl::StrCat("only read; ", config_.cache_dir, ": ", config_.cache_reason),
            .log_file = config_.log_file,
            .settings = config_.settings,
            .started_at = started_at_,
            .health = [this] { return health(); },
            .workers_checked = [this] { return workers_checked_.load(); },
            .shut_down = [this] { ask_to_stop("asked to by its owner"); }};
  }

  RemoteTier::Services remote_services() {
    return {.entries = remote_entries_.get(),
            .store = &store_,
            .plan_reads = &plan_reads_,
            .tuning = &tuning_,
            .executor = &executor_,
            .disk = &maintenance_executor_,
            .workers = config_.workers,
            .clock = config_.clock};
  }

  WorkerPoolOptions with_hooks(WorkerPoolOptions options) {
    if (config_.remote.is_used() || config_.remote.has_keys())
      options.command.on_mapped_files = [this](const std::vector<std::string>& files) { flavour_.mapped(files); };
    options.on_start = [this](absl::Status status, Clock::time_point began) {
      if (absl::IsFailedPrecondition(status) && installation_) {
        spdlog::info("{}: looking for {} s whether hearthd is replaced on disk, too", std::string(status.message()),
                     kUpgradePatience.count());
        if (installation_->wait_until_replaced(kUpgradePatience)) {
          ask_to_stop("its programs were replaced on disk");
          return absl::UnavailableError("hearthd was replaced on disk by another build, which takes over: try again");
        }
      }
      health_.set("workers", status, began);
      workers_checked_ = true;
      return status;
    };
    return options;
  }

  std::string health() {
    health_.set("cache", store_.health(), config_.clock->now());
    return health_.text();
  }

  // For a client that cannot open the cache's files by path; it checks the bytes' digest.
  UniqueFd open_artifact(uid_t user, const Digest& digest) {
    if (!grants_.allows(user, digest)) return {};
    const std::string path = store_.artifact_path(digest);
    return path.empty() ? UniqueFd() : UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  }

  void hand_over() {
    if (handed_over_ || !cache_->hand_over_if_wanted()) return;
    handed_over_ = true;
    spdlog::info("another daemon has taken the cache over; calls that still run are answered from memory");
  }

  void maintain() {
    const std::chrono::milliseconds idle_exit(config_.idle_exit_ms);
    const std::chrono::milliseconds tick =
        config_.idle_exit_ms > 0
            ? std::clamp(idle_exit / 4, std::chrono::milliseconds(20), std::chrono::milliseconds(1000))
            : std::chrono::milliseconds(1000);
    Clock::time_point last_flush = Clock::machine().now();
    sweep_worker_folders(config_.temp_dir);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, tick, [this] { return ended_; })) {
      lock.unlock();
      if (config_.idle_exit_ms > 0 && activity_.idle_for() >= idle_exit) ask_to_stop("idle");
      requests_.cancel_stalled();
      answers_.cancel_stalled();
      if (remote_) remote_->maintain();
      give_memory_back();
      if (!listener_->is_reachable()) ask_to_stop("its socket was removed");
      if (installation_ && installation_->is_replaced()) ask_to_stop("its program was replaced on disk");
      if (Clock::machine().now() - last_flush >= kFlushEvery) {
        cache_->flush();
        last_flush = Clock::machine().now();
        (void)serve_metrics();
        log_health();
      }
      lock.lock();
    }
  }

  // What large requests took would stay with malloc for good.
  static void give_memory_back() {
    const struct mallinfo2 heap = ::mallinfo2();
    if (resident_bytes(::getpid()) > heap.uordblks + heap.hblkhd + kTrimAfterBytes) ::malloc_trim(kTrimSlackBytes);
  }

  void log_health() {
    const std::string now = health();
    if (now == last_health_) return;
    spdlog::warn("health: {}", now);
    last_health_ = now;
  }

  const Config config_;
  const Clock::time_point started_at_ = Clock::machine().now();
  const int stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::atomic<bool> stop_asked_{false};
  const std::unique_ptr<Installation> installation_;  // null: upgrades are not noticed
  Health health_;
  std::atomic<bool> workers_checked_{false};
  std::unique_ptr<Listener> listener_;
  const std::unique_ptr<WeightServer> weights_;
  std::unique_ptr<cache::KernelsCache> cache_;
  ResultStore store_;
  Metrics metrics_;
  Leases leases_;
  Activity activity_{*config_.clock};
  KernelFlights kernel_flights_;
  PoisonList poison_;
  const std::unique_ptr<RemoteCache> remote_;  // null, like the next two: there is none; ended before what it uses goes
  const std::unique_ptr<RemoteEntries> remote_entries_;
  const std::unique_ptr<RemoteTier> remote_tier_;
  BlobBuilder blobs_;  // above what runs its steps and its jobs, which therefore end first
  BlobLibraries blob_libraries_;
  UserAccounts accounts_;
  Executor executor_;
  Executor blob_executor_;  // reads sources, which may take long: no other call waits for it
  Executor maintenance_executor_;
  Executor explanation_executor_;
  CompilerFlavour flavour_{config_.worker,
                           [this](std::function<void()> task) { maintenance_executor_.post(std::move(task)); }};
  WorkerPool pool_;
  WorkerPool blob_pool_;
  TuningTable tuning_;
  PlanReads plan_reads_;
  PtxAssembler ptx_;
  Preparer preparer_;
  Explainer explainer_;
  Tuner tuner_;
  ConnectedClients clients_;
  ArtifactGrants grants_;
  MemoryBudget requests_;
  MemoryBudget answers_;
  const CallServices calls_;
  OpenSessions sessions_;
  ClientServers client_servers_;
  AdminServiceImpl owner_admin_service_;
  std::unique_ptr<RpcServer> owner_server_;
  std::unique_ptr<StatusServer> status_server_;  // null: not asked for, or its address is somebody else's
  bool told_of_metrics_ = false;
  std::thread accept_thread_;
  std::thread maintenance_thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;        // guarded by mutex_
  bool drained_ = false;      // touched by drain() only
  bool handed_over_ = false;  // likewise
  std::string last_health_ = "ready";
};

absl::StatusOr<std::unique_ptr<HearthDaemon>> HearthDaemon::start(const Config& config) {
  if (absl::Status status = check_trusted_program("the compiler worker", config.worker, "--worker"); !status.ok()) {
    return status;
  }
  if (!config.ptxas.empty()) {
    if (absl::Status status = check_trusted_program("ptxas", config.ptxas, "--ptxas"); !status.ok()) return status;
  }
  std::unique_ptr<Installation> installation;
  if (!config.program.empty()) {
    absl::StatusOr<std::unique_ptr<Installation>> found = Installation::find(config.program);
    if (!found.ok()) spdlog::warn("an upgrade will not be noticed: {}", std::string(found.status().message()));
    if (found.ok()) installation = *std::move(found);
  }
  ConnectionLimits limits{config.max_connections, config.max_connections_per_process};
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::open(config.socket, kLockPatience, limits,
                                                                             config.clients, config.activated_socket));
  WeightLimits weight_limits{config.weights_memory_bytes, config.max_weights,
                             std::chrono::milliseconds(config.weights_keep_ms)};
  HEARTH_ASSIGN_OR_RETURN(
      std::unique_ptr<WeightServer> weights,
      WeightServer::open(weights_socket_path(config.socket), weight_limits, limits, config.clients, config.sharing));
  // Where it does not start, clients find no socket.
  absl::Cleanup leave = [&] {
    listener->stop();
    weights->stop();
  };
  HEARTH_RETURN_IF_ERROR(make_folders(config.cache_dir));
  HEARTH_RETURN_IF_ERROR(check_sandbox(config));
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<cache::KernelsCache> cache,
                          cache::KernelsCache::open(cache_options(config, kLockPatience)));
  std::move(leave).Cancel();
  auto impl = std::make_unique<Impl>(config, std::move(installation), std::move(listener), std::move(weights),
                                     std::move(cache));
  HEARTH_RETURN_IF_ERROR(impl->serve());
  return std::unique_ptr<HearthDaemon>(new HearthDaemon(std::move(impl)));
}

HearthDaemon::HearthDaemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HearthDaemon::~HearthDaemon() = default;
int HearthDaemon::stop_event() const { return impl_->stop_event(); }
bool HearthDaemon::drain() { return impl_->drain(); }

}  // namespace hearth::daemon
