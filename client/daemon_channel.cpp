#include "client/daemon_channel.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "client/daemon_session.h"
#include "client/daemon_starter.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "hearth/v1/compiler_service.grpc.pb.h"
#include "proto/socket_path.h"
#include "proto/versions.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAttempts = 5;
constexpr std::size_t kMaxArtifactBytes = std::size_t{1} << 30;

absl::StatusOr<bool> auto_start_allowed(bool wanted) {
  const char* off = std::getenv("HEARTH_NO_AUTOSTART");
  const std::string_view text = off == nullptr ? "" : off;
  if (text.empty() || text == "0") return wanted;
  if (text == "1") return false;
  return absl::InvalidArgumentError(str_cat("HEARTH_NO_AUTOSTART is '", text, "'; expected 0 or 1"));
}

void set_deadline(grpc::ClientContext& context, Clock::time_point deadline) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - Clock::now()));
}

absl::Status to_absl(const grpc::Status& status, const std::string& socket) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return absl::Status(code, str_cat("the daemon on ", socket, " is not available: ", status.error_message()));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      // The daemon's own: a compile that took too long. gRPC's says these two words.
      if (status.error_message() != "Deadline Exceeded") return absl::Status(code, status.error_message());
      return absl::Status(code, str_cat("the daemon on ", socket, " did not answer by the deadline"));
    default:
      return absl::Status(code, status.error_message());
  }
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a new channel starts without old back-off
  // MIN_RECONNECT_BACKOFF stays at its default: it also limits how long one connection attempt may take.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct DaemonChannel::State {
  std::string socket;
  bool auto_start = true;

  std::mutex mutex;
  std::shared_ptr<grpc::Channel> channel;  // made at first use, again after the daemon went away
  std::shared_ptr<DaemonSession> session;

  std::shared_ptr<grpc::Channel> current() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!channel) channel = make_channel(socket);
    return channel;
  }

  void forget(const std::shared_ptr<grpc::Channel>& broken) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (channel != broken) return;
    channel.reset();
    session.reset();
  }

  // nullptr when `on` is no longer the channel.
  std::shared_ptr<DaemonSession> session_on(const std::shared_ptr<grpc::Channel>& on) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (channel != on) return nullptr;
    if (!session || session->ended()) session = DaemonSession::open(on);
    return session;
  }

  // 0 when there is none (yet); leases are a courtesy of the cache, not needed for a plan to work.
  std::uint64_t session_id(const std::shared_ptr<grpc::Channel>& on, Clock::time_point deadline) {
    const std::shared_ptr<DaemonSession> open = session_on(on);
    return open ? open->id(std::min(deadline, Clock::now() + std::chrono::milliseconds(500))) : 0;
  }

  absl::Status ensure_running(Clock::time_point deadline) {
    absl::StatusOr<bool> accepts = daemon_accepts(socket);
    if (!accepts.ok()) return accepts.status();
    if (*accepts) return absl::OkStatus();
    if (!auto_start) {
      return absl::UnavailableError(str_cat("no daemon listens on ", socket, "; start one with `hearth daemon start`"));
    }
    return client::start_daemon(socket, deadline);
  }

  // Runs `call` with a connected channel; when the daemon went away meanwhile, starts over on a new one.
  template <typename Call>
  absl::Status with_daemon(Clock::time_point deadline, bool starts_daemon, Call call) {
    absl::Status status;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (starts_daemon) {
        if (status = ensure_running(deadline); !status.ok()) return status;
      } else {
        absl::StatusOr<bool> accepts = daemon_accepts(socket);
        if (!accepts.ok()) return accepts.status();
        if (!*accepts) return absl::UnavailableError(str_cat("no daemon listens on ", socket));
      }
      const std::shared_ptr<grpc::Channel> on = current();
      grpc::ClientContext context;
      set_deadline(context, deadline);
      context.set_wait_for_ready(false);
      status = to_absl(call(context, on), socket);
      if (!absl::IsUnavailable(status)) return status;
      forget(on);
      thread_local std::minstd_rand random(std::random_device{}());
      const auto pause = std::chrono::milliseconds((10 << attempt) + random() % (20 << attempt));
      if (Clock::now() + pause >= deadline) return status;
      std::this_thread::sleep_for(pause);
    }
    return status;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> admin(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                                Response*),
                                 const Request& request, Millis timeout) {
    Response response;
    absl::Status status = with_daemon(Clock::now() + timeout, false,
                                      [&](grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& on) {
                                        v1::AdminService::Stub stub(on);
                                        return (stub.*method)(&context, request, &response);
                                      });
    if (!status.ok()) return status;
    return response;
  }

  // A call that answers with events: progress, then the result. `call_ms` as in prepare().
  template <typename Result, typename Request, typename Event, typename Progress>
  absl::StatusOr<Result> events(std::unique_ptr<grpc::ClientReader<Event>> (v1::CompilerService::Stub::*method)(
                                    grpc::ClientContext*, const Request&),
                                const char* name, Request& request, Clock::time_point deadline,
                                const std::function<void(const Progress&)>& progress, double* call_ms = nullptr) {
    request.set_protocol_version(kProtocolVersion);
    std::optional<Result> result;
    absl::Status status =
        with_daemon(deadline, true, [&](grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& on) {
          if constexpr (requires { request.session_id(); }) request.set_session_id(session_id(on, deadline));
          v1::CompilerService::Stub stub(on);
          const Clock::time_point asked = Clock::now();
          std::unique_ptr<grpc::ClientReader<Event>> reader = (stub.*method)(&context, request);
          Event event;
          while (reader->Read(&event)) {
            if (event.has_progress() && progress) progress(event.progress());
            if (event.has_result()) result = std::move(*event.mutable_result());
          }
          const grpc::Status ended = reader->Finish();
          if (call_ms) *call_ms = std::chrono::duration<double, std::milli>(Clock::now() - asked).count();
          return ended;
        });
    if (!status.ok()) return status;
    if (!result) return absl::InternalError(str_cat("the daemon ended a ", name, " without a result"));
    return *std::move(result);
  }
};

DaemonChannel::DaemonChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
DaemonChannel::~DaemonChannel() = default;

absl::StatusOr<std::shared_ptr<DaemonChannel>> DaemonChannel::get(const ChannelConfig& config) {
  absl::StatusOr<std::string> socket = resolve_socket_path(config.socket);
  if (!socket.ok()) return socket.status();
  // Never destroyed: the session's thread may run until the process ends, which also ends the leases.
  static auto* const mutex = new std::mutex;
  static auto* const channels = new std::map<std::pair<std::string, bool>, std::shared_ptr<DaemonChannel>>;
  const absl::StatusOr<bool> auto_start = auto_start_allowed(config.auto_start);
  if (!auto_start.ok()) return auto_start.status();
  const std::lock_guard<std::mutex> lock(*mutex);
  std::shared_ptr<DaemonChannel>& channel = (*channels)[{*socket, *auto_start}];
  if (!channel) {
    auto state = std::make_unique<State>();
    state->socket = *socket;
    state->auto_start = *auto_start;
    channel.reset(new DaemonChannel(std::move(state)));
  }
  return channel;
}

const std::string& DaemonChannel::socket_path() const { return state_->socket; }

bool DaemonChannel::daemon_is_running() const {
  absl::StatusOr<bool> accepts = daemon_accepts(state_->socket);
  return accepts.ok() && *accepts;
}

void DaemonChannel::connect_early() {
  if (daemon_is_running()) state_->session_on(state_->current());
}

absl::Status DaemonChannel::start_daemon(Deadline deadline) {
  absl::StatusOr<bool> accepts = daemon_accepts(state_->socket);
  if (!accepts.ok()) return accepts.status();
  return *accepts ? absl::OkStatus() : client::start_daemon(state_->socket, deadline);
}

absl::StatusOr<v1::PrepareResult> DaemonChannel::prepare(
    v1::PrepareRequest request, Deadline deadline, const std::function<void(const v1::PrepareProgress&)>& progress,
    double* call_ms) {
  request.set_want_progress(static_cast<bool>(progress));
  return state_->events<v1::PrepareResult>(&v1::CompilerService::Stub::Prepare, "Prepare", request, deadline, progress,
                                           call_ms);
}

absl::StatusOr<std::string> DaemonChannel::fetch_artifact(std::string_view digest, Deadline deadline) {
  v1::FetchArtifactRequest request;
  request.set_digest(std::string(digest));
  std::string bytes;
  bool too_large = false;
  absl::Status status =
      state_->with_daemon(deadline, true, [&](grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& on) {
        bytes.clear();
        v1::CompilerService::Stub stub(on);
        std::unique_ptr<grpc::ClientReader<v1::FetchArtifactChunk>> reader = stub.FetchArtifact(&context, request);
        v1::FetchArtifactChunk chunk;
        while (reader->Read(&chunk)) {
          too_large = too_large || bytes.size() + chunk.data().size() > kMaxArtifactBytes;
          if (too_large) {
            context.TryCancel();
          } else {
            bytes += chunk.data();
          }
        }
        return reader->Finish();
      });
  if (too_large)
    return absl::ResourceExhaustedError(str_cat("an artifact is larger than ", kMaxArtifactBytes, " bytes"));
  if (!status.ok()) return status;
  return bytes;
}

absl::StatusOr<v1::ExplainResponse> DaemonChannel::explain(v1::ExplainRequest request, Deadline deadline) {
  request.set_protocol_version(kProtocolVersion);
  v1::ExplainResponse response;
  absl::Status status =
      state_->with_daemon(deadline, true, [&](grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& on) {
        v1::CompilerService::Stub stub(on);
        return stub.Explain(&context, request, &response);
      });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::TuneResult> DaemonChannel::tune(v1::TuneRequest request, Deadline deadline,
                                                   const std::function<void(const v1::TuneProgress&)>& progress) {
  return state_->events<v1::TuneResult>(&v1::CompilerService::Stub::Tune, "Tune", request, deadline, progress);
}

absl::StatusOr<v1::BlobResult> DaemonChannel::compile_blob(
    v1::CompileBlobRequest request, Deadline deadline, const std::function<void(const v1::BlobProgress&)>& progress) {
  request.set_want_progress(static_cast<bool>(progress));
  return state_->events<v1::BlobResult>(&v1::CompilerService::Stub::CompileBlob, "CompileBlob", request, deadline,
                                        progress);
}

void DaemonChannel::release_lease(std::uint64_t lease_id) {
  std::shared_ptr<DaemonSession> session;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    session = state_->session;
  }
  if (session && lease_id != 0) session->release(lease_id);
}

absl::StatusOr<v1::StatsResponse> DaemonChannel::stats(Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::Stats, v1::StatsRequest(), timeout);
}
absl::StatusOr<v1::CacheListResponse> DaemonChannel::cache_list(const v1::CacheListRequest& request, Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::CacheList, request, timeout);
}
absl::StatusOr<v1::CacheVerifyResponse> DaemonChannel::cache_verify(Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::CacheVerify, v1::CacheVerifyRequest(), timeout);
}
absl::StatusOr<v1::CacheClearResponse> DaemonChannel::cache_clear(const v1::CacheClearRequest& request,
                                                                  Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::CacheClear, request, timeout);
}
absl::StatusOr<v1::RemoveBlobsResponse> DaemonChannel::remove_blobs(const v1::RemoveBlobsRequest& request,
                                                                    Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::RemoveBlobs, request, timeout);
}
absl::Status DaemonChannel::shutdown(Millis timeout) {
  return state_->admin(&v1::AdminService::Stub::Shutdown, v1::ShutdownRequest(), timeout).status();
}

}  // namespace hearth::client
