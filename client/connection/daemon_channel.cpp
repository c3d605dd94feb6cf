#include "client/connection/daemon_channel.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/cancellation.h"
#include "base/fork.h"
#include "base/span.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_session.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/daemon_starter.h"
#include "client/connection/rpc_connection.h"
#include "client/connection/rpc_methods.h"
#include "proto/socket_path.h"
#include "proto/versions.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
// A daemon that goes away is replaced by another one within this time, by a client or by whatever keeps it running.
constexpr std::chrono::seconds kRecoverLimit{5};
constexpr std::chrono::seconds kTimingAnswerLimit{60};  // to tell a timing
constexpr int kMaxLosses = 20;
constexpr int kMaxPauseMs = 500;
constexpr std::size_t kMaxArtifactBytes = std::size_t{1} << 30;

absl::StatusOr<bool> auto_start_allowed(bool wanted) {
  const char* off = secure_getenv("HEARTH_NO_AUTOSTART");
  const std::string_view text = off == nullptr ? "" : off;
  if (text.empty() || text == "0") return wanted;
  if (text == "1") return false;
  return absl::InvalidArgumentError(str_cat("HEARTH_NO_AUTOSTART is '", text, "'; expected 0 or 1"));
}

absl::Status none_listens(const std::string& socket) {
  return absl::NotFoundError(str_cat("no daemon listens on ", socket, "; start one with `hearth daemon start`"));
}

// What the daemon says, for a reader who does not know which daemon.
absl::Status named(const absl::Status& status, const std::string& socket, const DaemonPeer& peer) {
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(
        str_cat("the daemon on ", socket, " is not available: ", std::string(status.message())));
  }
  // The daemon's own deadline, of a compile that took too long, has other words.
  if (absl::IsDeadlineExceeded(status) && status.message() == "Deadline Exceeded") {
    return absl::DeadlineExceededError(
        str_cat("the daemon on ", socket, " did not answer by the deadline: ", describe_unresponsive(peer)));
  }
  return status;
}

}  // namespace

struct DaemonChannel::State {
  const std::string socket;
  const bool auto_start;
  const std::uint32_t generation = runtime::fork_generation();

  std::mutex mutex;
  std::unique_ptr<RpcConnection> idle;  // of the last call, for the next one
  ProcessSocket files;                  // likewise
  std::shared_ptr<DaemonSession> session;

  State(std::string path, bool starts) : socket(std::move(path)), auto_start(starts) {}

  // An earlier call's, or a new one to a daemon that is started if need be. NOT_FOUND: no daemon runs and none was
  // started, for the reason given.
  absl::StatusOr<std::unique_ptr<RpcConnection>> connection(bool may_start, Clock::time_point deadline) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (std::unique_ptr<RpcConnection> kept = std::move(idle); kept && kept->is_reusable()) return kept;
    }
    absl::StatusOr<std::unique_ptr<RpcConnection>> connected = RpcConnection::connect(socket, deadline);
    if (!absl::IsNotFound(connected.status())) return connected;
    if (!may_start) return absl::NotFoundError(str_cat("no daemon listens on ", socket));
    if (!auto_start) return none_listens(socket);
    absl::Status started = client::start_daemon(socket, deadline);
    if (absl::IsUnavailable(started)) return absl::NotFoundError(std::string(started.message()));
    if (!started.ok()) return started;
    connected = RpcConnection::connect(socket, deadline);
    // It served a moment ago: another one can be started.
    if (absl::IsNotFound(connected.status())) return absl::UnavailableError(std::string(connected.status().message()));
    return connected;
  }
  void give_back(std::unique_ptr<RpcConnection> connection) {
    if (!connection->is_reusable()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    idle.swap(connection);
  }
  // The daemon went away, and its session with it.
  void forget() {
    std::unique_ptr<RpcConnection> old_connection;
    std::shared_ptr<DaemonSession> old_session;
    ProcessSocket old_files;
    const std::lock_guard<std::mutex> lock(mutex);
    old_connection.swap(idle);
    std::swap(old_files, files);
    old_session.swap(session);
  }

  std::shared_ptr<DaemonSession> open_session() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!session || session->ended()) session = DaemonSession::open(socket);
    return session;
  }
  // 0 when there is none (yet); leases are a courtesy of the cache, not needed for a plan to work.
  std::uint64_t session_id(Clock::time_point deadline) {
    const std::shared_ptr<DaemonSession> opened = open_session();
    const Clock::time_point end = std::min(deadline, Clock::now() + std::chrono::milliseconds(500));
    for (;;) {
      const std::uint64_t id = opened->id(std::min(end, Clock::now() + kCancelSlice));
      if (id != 0 || opened->ended() || Clock::now() >= end || is_cancelled()) return id;
    }
  }

  // Sends one request and gives each answer to `on_response`, which refuses one that cannot be used.
  template <typename Method, typename OnResponse>
  absl::Status exchange(RpcConnection& connection, const Method& method, const typename Method::Request& request,
                        Clock::time_point deadline, OnResponse on_response) {
    connection.begin(method.path, deadline);
    connection.send(request.SerializeAsString(), /*last=*/true);
    std::string message;
    while (connection.next(&message) == RpcConnection::Event::kMessage) {
      typename Method::Response response;
      if (!response.ParseFromString(message)) return absl::DataLossError("the daemon's answer cannot be read");
      HEARTH_RETURN_IF_ERROR(on_response(std::move(response)));
    }
    return connection.status();
  }

  // Runs `call` with a connection; when the daemon went away meanwhile, at whatever point of the call, starts over on a
  // new one. A daemon is given up when none is there for kRecoverLimit, or when kMaxLosses in a row were lost.
  template <typename Call>
  absl::Status with_daemon(Clock::time_point deadline, bool starts_daemon, Call call) {
    Clock::time_point give_up = deadline;
    if (is_cancelled()) return absl::CancelledError("the call was cancelled");
    int losses = 0;  // daemons that took the call and ended it
    for (int attempt = 0;; ++attempt) {
      absl::StatusOr<std::unique_ptr<RpcConnection>> connected = connection(starts_daemon, deadline);
      absl::Status status = connected.ok() ? call(**connected) : connected.status();
      if (generation != runtime::fork_generation()) return status;  // the caller's own code has forked
      if (is_cancelled()) return absl::CancelledError("the call was cancelled");
      // Not by this side: a daemon that ends cancels calls.
      if (absl::IsCancelled(status)) status = absl::UnavailableError(std::string(status.message()));
      losses += connected.ok() ? 1 : 0;
      // No daemon is an answer, unless one was there a moment ago.
      const bool is_missing = !connected.ok() && absl::IsNotFound(status);
      if (is_missing) status = absl::UnavailableError(std::string(status.message()));
      const bool may_recover = absl::IsUnavailable(status) && (!is_missing || attempt > 0);
      const DaemonPeer peer = connected.ok() ? (*connected)->peer() : DaemonPeer();
      if (connected.ok() && !absl::IsUnavailable(status)) give_back(*std::move(connected));
      if (!may_recover) return is_missing || !connected.ok() ? status : named(status, socket, peer);
      if (attempt == 0 || connected.ok()) give_up = std::min(deadline, Clock::now() + kRecoverLimit);
      forget();
      thread_local std::minstd_rand random(std::random_device{}());
      const int longest = std::min(kMaxPauseMs, 20 << std::min(attempt, 10));
      const auto pause = std::chrono::milliseconds(longest / 2 + static_cast<int>(random() % longest));
      if (Clock::now() + pause >= give_up || losses >= kMaxLosses)
        return is_missing || !connected.ok() ? status : named(status, socket, peer);
      if (!sleep_unless_cancelled(pause)) return absl::CancelledError("the call was cancelled");
    }
  }

  // A call with one answer.
  template <typename Method>
  absl::StatusOr<typename Method::Response> unary(const Method& method, const typename Method::Request& request,
                                                  Clock::time_point deadline, bool starts_daemon) {
    std::optional<typename Method::Response> response;
    absl::Status status = with_daemon(deadline, starts_daemon, [&](RpcConnection& connection) {
      response.reset();
      return exchange(connection, method, request, deadline, [&](typename Method::Response&& answer) {
        response = std::move(answer);
        return absl::OkStatus();
      });
    });
    if (!status.ok()) return status;
    if (!response) return absl::InternalError(str_cat("the daemon ended ", method.path, " without an answer"));
    return *std::move(response);
  }
  // A command of the owner's. A daemon of an earlier version has no socket for them.
  template <typename Method>
  absl::StatusOr<typename Method::Response> owner(const Method& method, const typename Method::Request& request,
                                                  Clock::time_point deadline) {
    absl::StatusOr<std::unique_ptr<RpcConnection>> connected =
        RpcConnection::connect(admin_socket_path(socket), deadline);
    if (absl::IsNotFound(connected.status())) return unary(method, request, deadline, /*starts_daemon=*/false);
    HEARTH_RETURN_IF_ERROR(connected.status());
    std::optional<typename Method::Response> response;
    absl::Status status = exchange(**connected, method, request, deadline, [&](typename Method::Response&& answer) {
      response = std::move(answer);
      return absl::OkStatus();
    });
    if (!status.ok()) return named(status, socket, (*connected)->peer());
    if (!response) return absl::InternalError(str_cat("the daemon ended ", method.path, " without an answer"));
    return *std::move(response);
  }

  // A call that answers with events: progress, then the result. `call_ms` as in prepare().
  // `on_timing`: of a stream that asks for timings.
  template <typename Result, typename Method, typename Progress>
  absl::StatusOr<Result> events(const Method& method, typename Method::Request& request, Clock::time_point deadline,
                                const std::function<void(const Progress&)>& progress, double* call_ms = nullptr,
                                const std::function<absl::Status(const v1::TimingTask&)>& on_timing = {}) {
    request.set_protocol_version(kProtocolVersion);
    std::optional<Result> result;
    absl::Status status = with_daemon(deadline, true, [&](RpcConnection& connection) {
      if constexpr (requires { request.session_id(); }) request.set_session_id(session_id(deadline));
      const Span span(method.path, "rpc");
      const Clock::time_point asked = Clock::now();
      absl::Status ended = exchange(connection, method, request, deadline, [&](typename Method::Response&& event) {
        if (event.has_progress() && progress) progress(event.progress());
        if constexpr (requires { event.has_timing(); }) {
          if (event.has_timing() && on_timing) HEARTH_RETURN_IF_ERROR(on_timing(event.timing()));
        }
        if (event.has_result()) result = std::move(*event.mutable_result());
        return absl::OkStatus();
      });
      if (call_ms) *call_ms = std::chrono::duration<double, std::milli>(Clock::now() - asked).count();
      return ended;
    });
    if (!status.ok()) return status;
    if (!result) return absl::InternalError(str_cat("the daemon ended ", method.path, " without a result"));
    return *std::move(result);
  }
};

DaemonChannel::DaemonChannel(std::unique_ptr<State> state) : newest_(state.release()) {}
DaemonChannel::~DaemonChannel() {
  State* const state = newest_.load();
  if (state->generation == runtime::fork_generation()) delete state;
}

// In a forked child the parent's state is left alone and never destroyed: its locks may be held and its threads do not
// exist. The first call makes a state of the child's own.
DaemonChannel::State& DaemonChannel::state() const {
  State* state = newest_.load(std::memory_order_acquire);
  while (state->generation != runtime::fork_generation()) {
    auto own = std::make_unique<State>(state->socket, state->auto_start);
    if (newest_.compare_exchange_strong(state, own.get(), std::memory_order_acq_rel)) return *own.release();
  }
  return *state;
}

absl::StatusOr<std::shared_ptr<DaemonChannel>> DaemonChannel::get(const ChannelConfig& config) {
  // The channels of one process. Never destroyed: a session's thread may run until the process ends, which also ends
  // the leases.
  struct Channels {
    const std::uint32_t generation = runtime::fork_generation();
    std::mutex mutex;
    std::map<std::pair<std::string, bool>, std::shared_ptr<DaemonChannel>> by_socket;
  };
  static std::atomic<Channels*> newest{new Channels};
  HEARTH_ASSIGN_OR_RETURN(std::string socket, resolve_socket_path(config.socket));
  Channels* channels = newest.load(std::memory_order_acquire);
  while (channels->generation != runtime::fork_generation()) {  // a forked child: the parent's lock may be held
    auto own = std::make_unique<Channels>();
    if (newest.compare_exchange_strong(channels, own.get(), std::memory_order_acq_rel)) channels = own.release();
  }
  HEARTH_ASSIGN_OR_RETURN(const bool auto_start, auto_start_allowed(config.auto_start));
  const std::lock_guard<std::mutex> lock(channels->mutex);
  std::shared_ptr<DaemonChannel>& channel = channels->by_socket[{socket, auto_start}];
  if (!channel) channel.reset(new DaemonChannel(std::make_unique<State>(socket, auto_start)));
  return channel;
}

const std::string& DaemonChannel::socket_path() const { return state().socket; }

std::optional<DaemonPeer> DaemonChannel::last_peer() const {
  State& own = state();
  const std::lock_guard<std::mutex> lock(own.mutex);
  return own.idle ? std::optional(own.idle->peer()) : std::nullopt;
}

ProcessSocket DaemonChannel::take_files_connection() {
  State& own = state();
  const std::lock_guard<std::mutex> lock(own.mutex);
  return std::move(own.files);
}

void DaemonChannel::keep_files_connection(ProcessSocket socket) {
  State& own = state();
  const std::lock_guard<std::mutex> lock(own.mutex);
  std::swap(own.files, socket);
}

absl::StatusOr<bool> DaemonChannel::daemon_is_running() const { return daemon_accepts(socket_path()); }

void DaemonChannel::connect_early() {
  if (daemon_is_running().value_or(false)) state().open_session();
}

absl::Status DaemonChannel::start_daemon(Deadline deadline) {
  HEARTH_ASSIGN_OR_RETURN(bool running, daemon_is_running());
  return running ? absl::OkStatus() : client::start_daemon(socket_path(), deadline);
}

absl::Status DaemonChannel::have_daemon(Deadline deadline) {
  HEARTH_ASSIGN_OR_RETURN(bool running, daemon_is_running());
  if (running) return absl::OkStatus();
  return state().auto_start ? client::start_daemon(socket_path(), deadline) : none_listens(socket_path());
}

absl::StatusOr<v1::PrepareResult> DaemonChannel::prepare(
    v1::PrepareRequest request, Deadline deadline, const std::function<void(const v1::PrepareProgress&)>& progress,
    double* call_ms) {
  request.set_want_progress(static_cast<bool>(progress));
  request.set_want_trace(records_spans());
  absl::StatusOr<v1::PrepareResult> result =
      state().events<v1::PrepareResult>(rpc::kPrepare, request, deadline, progress, call_ms);
  if (!result.ok()) return result;
  for (v1::TraceSpan& span : *result->mutable_trace()) {
    const std::int64_t process = span.worker() > 0 ? span.worker() : last_peer().value_or(DaemonPeer{}).pid;
    add_span({.name = std::move(*span.mutable_name()),
              .category = std::move(*span.mutable_category()),
              .start_ns = span.start_ns(),
              .duration_ns = span.duration_ns(),
              .process = process,
              .program = span.worker() > 0 ? "hearth-worker" : "hearthd"});
  }
  result->clear_trace();
  return result;
}

absl::StatusOr<std::string> DaemonChannel::fetch_artifact(std::string_view digest, Deadline deadline) {
  v1::FetchArtifactRequest request;
  request.set_digest(std::string(digest));
  std::string bytes;
  State& state = this->state();
  absl::Status status = state.with_daemon(deadline, true, [&](RpcConnection& connection) {
    bytes.clear();
    return state.exchange(connection, rpc::kFetchArtifact, request, deadline, [&](v1::FetchArtifactChunk&& chunk) {
      if (bytes.size() + chunk.data().size() > kMaxArtifactBytes) {
        return absl::ResourceExhaustedError(str_cat("an artifact is larger than ", kMaxArtifactBytes, " bytes"));
      }
      bytes += chunk.data();
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return status;
  return bytes;
}

absl::StatusOr<v1::ExplainResponse> DaemonChannel::explain(v1::ExplainRequest request, Deadline deadline) {
  request.set_protocol_version(kProtocolVersion);
  return state().unary(rpc::kExplain, request, deadline, /*starts_daemon=*/true);
}

absl::StatusOr<v1::TuneResult> DaemonChannel::tune(v1::TuneRequest request, Deadline deadline,
                                                   const std::function<void(const v1::TuneProgress&)>& progress,
                                                   const std::function<v1::TimingAnswer(const v1::TimingTask&)>& time) {
  request.set_caller_times(static_cast<bool>(time));
  State& state = this->state();
  // Over another connection: this one carries the stream. A run that waits for it no more has ended.
  const auto answer = [&](const v1::TimingTask& task) {
    const absl::Status told =
        state.unary(rpc::kAnswerTiming, time(task), Clock::now() + kTimingAnswerLimit, /*starts_daemon=*/false)
            .status();
    return absl::IsNotFound(told) ? absl::OkStatus() : told;
  };
  return state.events<v1::TuneResult>(rpc::kTune, request, deadline, progress, nullptr, answer);
}

absl::StatusOr<v1::BlobResult> DaemonChannel::compile_blob(
    v1::CompileBlobRequest request, Deadline deadline, const std::function<void(const v1::BlobProgress&)>& progress) {
  request.set_want_progress(static_cast<bool>(progress));
  return state().events<v1::BlobResult>(rpc::kCompileBlob, request, deadline, progress);
}

void DaemonChannel::release_lease(std::uint64_t lease_id) {
  State& state = this->state();
  std::shared_ptr<DaemonSession> session;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    session = state.session;
  }
  if (session && lease_id != 0) session->release(lease_id);
}

absl::StatusOr<v1::StatsResponse> DaemonChannel::stats(Millis timeout) {
  return state().unary(rpc::kStats, v1::StatsRequest(), Clock::now() + timeout, /*starts_daemon=*/false);
}
absl::StatusOr<v1::CacheListResponse> DaemonChannel::cache_list(const v1::CacheListRequest& request, Millis timeout) {
  return state().unary(rpc::kCacheList, request, Clock::now() + timeout, /*starts_daemon=*/false);
}
absl::StatusOr<v1::CacheVerifyResponse> DaemonChannel::cache_verify(Millis timeout) {
  return state().owner(rpc::kCacheVerify, v1::CacheVerifyRequest(), Clock::now() + timeout);
}
absl::StatusOr<v1::CacheClearResponse> DaemonChannel::cache_clear(const v1::CacheClearRequest& request,
                                                                  Millis timeout) {
  return state().owner(rpc::kCacheClear, request, Clock::now() + timeout);
}
absl::StatusOr<v1::RemoteCheckResponse> DaemonChannel::remote_check(Millis timeout) {
  return state().owner(rpc::kRemoteCheck, v1::RemoteCheckRequest(), Clock::now() + timeout);
}

absl::StatusOr<v1::RemoveModelResponse> DaemonChannel::remove_model(const v1::RemoveModelRequest& request,
                                                                    Millis timeout) {
  return state().owner(rpc::kRemoveModel, request, Clock::now() + timeout);
}

absl::StatusOr<v1::ExportPackResponse> DaemonChannel::export_pack(const v1::ExportPackRequest& request,
                                                                  Millis timeout) {
  return state().owner(rpc::kExportPack, request, Clock::now() + timeout);
}

absl::StatusOr<v1::ImportEntryResponse> DaemonChannel::import_entry(const v1::ImportEntryRequest& request,
                                                                    Millis timeout) {
  return state().owner(rpc::kImportEntry, request, Clock::now() + timeout);
}

absl::StatusOr<v1::ListPacksResponse> DaemonChannel::list_packs(Millis timeout) {
  return state().unary(rpc::kListPacks, v1::ListPacksRequest(), Clock::now() + timeout, /*starts_daemon=*/false);
}

absl::StatusOr<v1::RemoveBlobsResponse> DaemonChannel::remove_blobs(const v1::RemoveBlobsRequest& request,
                                                                    Millis timeout) {
  return state().owner(rpc::kRemoveBlobs, request, Clock::now() + timeout);
}
absl::Status DaemonChannel::shutdown(Millis timeout) {
  return state().owner(rpc::kShutdown, v1::ShutdownRequest(), Clock::now() + timeout).status();
}

}  // namespace hearth::client
