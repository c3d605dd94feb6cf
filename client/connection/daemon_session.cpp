#include "client/connection/daemon_session.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "client/connection/rpc_connection.h"
#include "client/connection/rpc_methods.h"
#include "proto/versions.h"

namespace hearth::client {
namespace {

constexpr std::chrono::seconds kConnectLimit{10};
constexpr std::size_t kMaxUnsentBytes = 1 << 20;    // some 100,000 leases
constexpr std::size_t kMaxWaitingLeases = 1 << 16;  // for the thread, which takes all of them at once

}  // namespace

struct DaemonSession::State {
  std::string socket_path;
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t id = 0;
  bool ended = false;
  bool stop = false;
  std::vector<std::uint64_t> waiting;  // leases to release

  State() { runtime::close_on_fork(wake); }
  // By the last of the session and its thread; of the thread's process, since a child never destroys one (see
  // DaemonChannel).
  ~State() {
    runtime::forget_close_on_fork(wake);
    ::close(wake);
  }

  void serve();
  void talk();
  bool send_waiting(RpcConnection& rpc);
};

void DaemonSession::State::serve() {
  talk();
  const std::lock_guard<std::mutex> lock(mutex);
  id = 0;
  ended = true;
  changed.notify_all();
}

void DaemonSession::State::talk() {
  auto rpc = RpcConnection::connect(socket_path, std::chrono::steady_clock::now() + kConnectLimit);
  if (!rpc.ok()) return;
  (*rpc)->begin(rpc::kSession.path, RpcConnection::kNoDeadline);
  v1::SessionRequest hello;
  hello.set_protocol_version(kProtocolVersion);
  (*rpc)->send(hello.SerializeAsString(), /*last=*/false);
  std::string message;
  for (;;) {
    switch ((*rpc)->next(&message, wake)) {
      case RpcConnection::Event::kEnded:
        return;
      case RpcConnection::Event::kWoken: {
        eventfd_t ignored;
        ::eventfd_read(wake, &ignored);
        break;
      }
      case RpcConnection::Event::kMessage: {
        v1::SessionResponse response;
        if (!response.ParseFromString(message)) return;
        const std::lock_guard<std::mutex> lock(mutex);
        id = response.session_id();
        changed.notify_all();
        break;
      }
    }
    if (!send_waiting(**rpc)) return;
  }
}

// False once the session is to end.
bool DaemonSession::State::send_waiting(RpcConnection& rpc) {
  v1::SessionRequest request;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (stop) return false;
    request.mutable_release_lease_ids()->Add(waiting.begin(), waiting.end());
    waiting.clear();
  }
  // A daemon that does not read: it gives these back with the session.
  if (request.release_lease_ids().empty() || rpc.unsent_bytes() > kMaxUnsentBytes) return true;
  request.set_protocol_version(kProtocolVersion);
  rpc.send(request.SerializeAsString(), /*last=*/false);
  return true;
}

DaemonSession::DaemonSession(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<DaemonSession> DaemonSession::open(const std::string& socket_path) {
  auto state = std::make_shared<State>();
  state->socket_path = socket_path;
  try {
    std::thread([state] { state->serve(); }).detach();
  } catch (const std::system_error&) {
    state->ended = true;  // no thread to be had: no leases, and everything else works
  }
  return std::shared_ptr<DaemonSession>(new DaemonSession(std::move(state)));
}

DaemonSession::~DaemonSession() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stop = true;
  ::eventfd_write(state_->wake, 1);
}

std::uint64_t DaemonSession::id(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_until(lock, deadline, [&] { return state_->id != 0 || state_->ended; });
  return state_->id;
}

bool DaemonSession::ended() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->ended;
}

void DaemonSession::release(std::uint64_t lease_id) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->ended || state_->waiting.size() >= kMaxWaitingLeases) return;
  state_->waiting.push_back(lease_id);
  if (state_->waiting.size() == 1) ::eventfd_write(state_->wake, 1);
}

}  // namespace hearth::client
