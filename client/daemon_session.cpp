#include "client/daemon_session.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "hearth/v1/compiler_service.grpc.pb.h"
#include "proto/versions.h"

namespace hearth::client {

struct DaemonSession::State {
  std::unique_ptr<v1::CompilerService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream;

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t id = 0;
  bool ended = false;
  std::mutex write_mutex;  // one write at a time

  void serve() {
    {
      const std::lock_guard<std::mutex> lock(write_mutex);
      stream = stub->Session(&context);
      v1::SessionRequest hello;
      hello.set_protocol_version(kProtocolVersion);
      stream->Write(hello);
    }
    v1::SessionResponse response;
    while (stream->Read(&response)) {
      const std::lock_guard<std::mutex> lock(mutex);
      id = response.session_id();
      changed.notify_all();
    }
    {
      const std::lock_guard<std::mutex> lock(mutex);
      id = 0;
      ended = true;
      changed.notify_all();
    }
    const std::lock_guard<std::mutex> lock(write_mutex);
    stream->Finish();
  }
};

DaemonSession::DaemonSession(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<DaemonSession> DaemonSession::open(const std::shared_ptr<grpc::Channel>& channel) {
  auto state = std::make_shared<State>();
  state->stub = v1::CompilerService::NewStub(channel);
  std::thread([state] { state->serve(); }).detach();
  return std::shared_ptr<DaemonSession>(new DaemonSession(std::move(state)));
}

DaemonSession::~DaemonSession() { state_->context.TryCancel(); }

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
  const std::lock_guard<std::mutex> lock(state_->write_mutex);
  if (!state_->stream || ended()) return;
  v1::SessionRequest request;
  request.set_protocol_version(kProtocolVersion);
  request.add_release_lease_ids(lease_id);
  state_->stream->Write(request);
}

}  // namespace hearth::client
