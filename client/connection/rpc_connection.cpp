#include "client/connection/rpc_connection.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/cancellation.h"
#include "base/fork.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/deadline.h"
#include "client/connection/rpc_format.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::int32_t kWindowBytes = 8 << 20;  // what the peer may send before we have read it

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

struct RpcConnection::State {
  std::string socket_path;
  DaemonPeer peer;
  int fd = -1;
  std::uint32_t generation = runtime::fork_generation();
  nghttp2_session* http = nullptr;
  bool has_read = false;      // anything at all
  bool is_broken = false;     // no other call can use the connection
  std::string unsent_frames;  // from nghttp2 and not yet in the socket
  std::array<char, kReadBytes> read_buffer;

  // What belongs to the call.
  std::int32_t stream = -1;
  Deadline deadline = kNoDeadline;
  std::string outgoing;  // framed messages that nghttp2 has not taken
  std::size_t outgoing_at = 0;
  bool is_last = false;
  bool peer_leaves = false;  // it takes no more calls (GOAWAY)
  RpcMessages incoming;
  RpcTrailers trailers;
  bool is_ended = false;
  absl::Status status;

  explicit State(int socket) : fd(socket) { runtime::close_on_fork(fd); }
  ~State() {
    nghttp2_session_del(http);
    if (is_of_this_process()) {
      runtime::forget_close_on_fork(fd);
      close(fd);
    }
  }

  // In a child of the process that connected, `fd` is closed and its number may be somebody else's.
  bool is_of_this_process() const { return generation == runtime::fork_generation(); }

  void end(absl::Status how) {
    if (is_ended) return;
    is_ended = true;
    status = std::move(how);
  }
  void fail(absl::Status how) {
    is_broken = true;
    end(std::move(how));
  }
  absl::Status gone(std::string_view what) const {
    return absl::UnavailableError(str_cat("the connection to ", socket_path, " ", what));
  }
  void on_last_frame();
  void on_stream_closed(std::uint32_t error);
  void give_up(absl::Status how) {
    fail(std::move(how));
    nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    write_frames();
  }
  bool wants_to_write() const { return !unsent_frames.empty() || nghttp2_session_want_write(http) != 0; }
  void write_frames();
  absl::Status refusal(std::string_view first) const;
  void read_frames();
  static void set_callbacks(nghttp2_session_callbacks* callbacks);
};

// The peer has said everything; it may have answered before it read the whole request.
void RpcConnection::State::on_last_frame() {
  if (nghttp2_session_get_stream_local_close(http, stream) == 0) {
    nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
  }
  end(incoming.is_between_messages() ? trailers.status()
                                     : absl::InternalError("the daemon's answer ends inside a message"));
}

// A stream that was reset before its last frame: gRPC's table of HTTP/2 error codes.
void RpcConnection::State::on_stream_closed(std::uint32_t error) {
  const std::string text = str_cat("the daemon ended the call: ", nghttp2_http2_strerror(error));
  if (peer_leaves) return end(absl::UnavailableError(text));
  switch (error) {
    case NGHTTP2_REFUSED_STREAM:
      return end(absl::UnavailableError(text));
    case NGHTTP2_CANCEL:
      return end(absl::CancelledError(text));
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return end(absl::ResourceExhaustedError(text));
    default:
      return end(absl::InternalError(text));
  }
}

void RpcConnection::State::set_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
        State& state = *static_cast<State*>(user);
        if (frame->hd.stream_id == state.stream) {
          state.trailers.add(view(name, name_size), view(value, value_size));
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream_id, const std::uint8_t* data, std::size_t size,
                    void* user) {
        State& state = *static_cast<State*>(user);
        if (stream_id != state.stream || state.is_ended) return 0;
        if (absl::Status added = state.incoming.add(view(data, size), kMaxMessageBytes); !added.ok()) {
          state.fail(added);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t stream_id, std::uint32_t error, void* user) {
        State& state = *static_cast<State*>(user);
        if (stream_id == state.stream) state.on_stream_closed(error);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        State& state = *static_cast<State*>(user);
        if (frame->hd.type == NGHTTP2_GOAWAY) state.is_broken = state.peer_leaves = true;  // for calls after this one
        const bool has_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
        if (has_end && frame->hd.stream_id == state.stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
          state.on_last_frame();
        }
        return 0;
      });
}

void RpcConnection::State::write_frames() {
  for (;;) {
    if (unsent_frames.empty()) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(http, &bytes);
      if (size < 0) return fail(absl::InternalError(nghttp2_strerror(static_cast<int>(size))));
      if (size == 0) return;
      unsent_frames.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    const ssize_t sent = ::send(fd, unsent_frames.data(), unsent_frames.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // What the peer said before it left is still to be read.
      if (errno != EAGAIN && errno != EWOULDBLOCK) is_broken = true;
      return;
    }
    unsent_frames.erase(0, static_cast<std::size_t>(sent));
  }
}

// What a daemon that does not serve this user says in place of HTTP/2: a line "hearth: WHY".
absl::Status RpcConnection::State::refusal(std::string_view first) const {
  constexpr std::string_view kBegin = "hearth: ";
  if (has_read || first.substr(0, kBegin.size()) != kBegin) return absl::OkStatus();
  const std::string_view why = first.substr(kBegin.size(), first.find('\n') - kBegin.size());
  return absl::PermissionDeniedError(str_cat(socket_path, ": ", why));
}

void RpcConnection::State::read_frames() {
  for (;;) {
    const ssize_t count = ::recv(fd, read_buffer.data(), read_buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) return fail(gone(count == 0 ? "was closed" : str_cat("broke: ", std::strerror(errno))));
    if (absl::Status refused = refusal({read_buffer.data(), static_cast<std::size_t>(count)}); !refused.ok())
      return fail(std::move(refused));
    has_read = true;
    const ssize_t used = nghttp2_session_mem_recv(http, reinterpret_cast<const std::uint8_t*>(read_buffer.data()),
                                                  static_cast<std::size_t>(count));
    if (used < 0) return fail(gone(str_cat("gave no HTTP/2: ", nghttp2_strerror(static_cast<int>(used)))));
    if (static_cast<std::size_t>(count) < read_buffer.size() || incoming.has_message() || is_ended) return;
  }
}

RpcConnection::RpcConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}

RpcConnection::~RpcConnection() = default;

absl::StatusOr<std::unique_ptr<RpcConnection>> RpcConnection::connect(const std::string& socket_path,
                                                                      Deadline deadline) {
  DaemonPeer peer;
  HEARTH_ASSIGN_OR_RETURN(const int fd, connect_to_daemon(socket_path, deadline, &peer));
  auto state = std::make_unique<State>(fd);
  state->socket_path = socket_path;
  state->peer = peer;
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return absl::ResourceExhaustedError("no memory for HTTP/2");
  State::set_callbacks(callbacks);
  const int made = nghttp2_session_client_new(&state->http, callbacks, state.get());
  nghttp2_session_callbacks_del(callbacks);
  if (made != 0) return absl::ResourceExhaustedError("no memory for HTTP/2");
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes}};
  nghttp2_submit_settings(state->http, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(state->http, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
  return std::unique_ptr<RpcConnection>(new RpcConnection(std::move(state)));
}

void RpcConnection::begin(std::string_view method, Deadline deadline) {
  State& state = *state_;
  state.deadline = deadline;
  state.outgoing.clear();
  state.outgoing_at = 0;
  state.is_last = state.is_ended = false;
  state.incoming = {};
  state.trailers = {};
  state.status = absl::OkStatus();
  std::vector<nghttp2_nv> headers = {header(":method", "POST"), header(":scheme", "http"),
                                     header(":path", method),   header(":authority", "localhost"),
                                     header("te", "trailers"),  header("content-type", "application/grpc")};
  std::string timeout;
  if (deadline != kNoDeadline) {
    timeout = rpc_timeout(deadline - Clock::now());
    headers.push_back(header("grpc-timeout", timeout));
  }
  nghttp2_data_provider provider;
  provider.source.ptr = &state;
  provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room, std::uint32_t* flags,
                              nghttp2_data_source* source, void*) -> ssize_t {
    State& state = *static_cast<State*>(source->ptr);
    const std::size_t count = std::min(room, state.outgoing.size() - state.outgoing_at);
    if (count == 0 && !state.is_last) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(to, state.outgoing.data() + state.outgoing_at, count);
    state.outgoing_at += count;
    if (state.outgoing_at == state.outgoing.size()) {
      state.outgoing.clear();
      state.outgoing_at = 0;
      if (state.is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return static_cast<ssize_t>(count);
  };
  state.stream = nghttp2_submit_request(state.http, nullptr, headers.data(), headers.size(), &provider, nullptr);
  if (state.stream < 0) state.fail(absl::UnavailableError(nghttp2_strerror(state.stream)));
}

void RpcConnection::send(std::string_view message, bool last) {
  append_rpc_message(message, &state_->outgoing);
  state_->is_last = last;
  if (state_->stream >= 0) nghttp2_session_resume_data(state_->http, state_->stream);
}

std::size_t RpcConnection::unsent_bytes() const {
  return state_->outgoing.size() - state_->outgoing_at + state_->unsent_frames.size();
}

RpcConnection::Event RpcConnection::next(std::string* message, int wake_fd) {
  State& state = *state_;
  for (;;) {
    if (!state.is_of_this_process()) {
      state.fail(state.gone("belongs to the process that this one was forked from"));
    } else if (!state.is_ended) {
      state.write_frames();
    }
    if (state.incoming.take(message)) return Event::kMessage;
    if (state.is_ended) return Event::kEnded;
    const auto events = static_cast<short>(POLLIN | (state.unsent_frames.empty() ? 0 : POLLOUT));
    pollfd waits[] = {{state.fd, events, 0}, {wake_fd, POLLIN, 0}};
    const int ready = ::poll(waits, 2, wait_slice_ms(milliseconds_until(state.deadline)));
    if (!state.is_of_this_process()) continue;
    if (ready > 0 && (waits[0].revents & ~POLLOUT) != 0) state.read_frames();
    if (ready > 0 && waits[1].revents != 0) return Event::kWoken;
    if (ready == 0 && Clock::now() >= state.deadline) {
      state.give_up(absl::DeadlineExceededError("Deadline Exceeded"));
    } else if (ready == 0 && is_cancelled()) {
      state.give_up(absl::CancelledError("the call was cancelled"));
    }
  }
}

const absl::Status& RpcConnection::status() const { return state_->status; }

const DaemonPeer& RpcConnection::peer() const { return state_->peer; }

bool RpcConnection::is_reusable() {
  State& state = *state_;
  if (!state.is_of_this_process() || state.is_broken || !state.is_ended || state.wants_to_write()) return false;
  // A peer that left meanwhile has said so.
  state.read_frames();
  state.write_frames();
  return !state.is_broken && nghttp2_session_check_request_allowed(state.http) != 0;
}

}  // namespace hearth::client
