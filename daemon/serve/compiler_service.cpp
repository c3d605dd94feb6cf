#include "daemon/serve/compiler_service.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "daemon/prepare/leases.h"
#include "daemon/serve/blob_call.h"
#include "daemon/serve/explain_call.h"
#include "daemon/serve/fetch_call.h"
#include "daemon/serve/grpc_status.h"
#include "daemon/serve/prepare_call.h"
#include "daemon/serve/tune_call.h"

namespace hearth::daemon {

class SessionCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  SessionCall(OpenSessions* sessions, const CallServices& services, grpc::CallbackServerContext* context)
      : sessions_(sessions),
        leases_(services.leases),
        context_(context),
        client_(services.clients->of(*context)),
        token_(services.activity->begin()) {
    {
      std::lock_guard lock(sessions_->mutex);
      sessions_->calls.insert(this);
    }
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return end(grpc::Status::OK);
    v1::SessionRequest request;
    if (absl::Status read = read_small_request(bytes_, request); !read.ok()) return end(to_grpc_status(read, context_));
    if (session_ == 0) {
      if (absl::Status status = check_protocol_version(request.protocol_version()); !status.ok()) {
        return end(to_grpc_status(status, context_));
      }
      session_ = leases_->open_session(client_);
      spdlog::trace("a session opens, {} are open", leases_->num_sessions());
      v1::SessionResponse response;
      response.set_session_id(session_);
      std::lock_guard lock(mutex_);
      if (finished_) return;
      response_ = to_byte_buffer(response);
      StartWrite(&response_);
    }
    for (std::uint64_t lease : request.release_lease_ids()) leases_->release(session_, lease);
    std::lock_guard lock(mutex_);
    if (!finished_) StartRead(&bytes_);
  }

  void OnCancel() override { end(grpc::Status::CANCELLED); }

  void OnDone() override {
    {
      std::lock_guard lock(sessions_->mutex);
      sessions_->calls.erase(this);
    }
    if (session_ != 0) {
      leases_->close_session(session_);
      spdlog::trace("a session ends, {} are open", leases_->num_sessions());
    }
    delete this;
  }

  void end(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (!std::exchange(finished_, true)) Finish(status);
  }

 private:
  OpenSessions* const sessions_;
  Leases* const leases_;
  grpc::CallbackServerContext* const context_;
  const ClientId client_;
  const Activity::Token token_;
  std::mutex mutex_;
  bool finished_ = false;
  std::uint64_t session_ = 0;  // touched by reads only, then by OnDone
  grpc::ByteBuffer bytes_, response_;
};

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompilerServiceImpl::Prepare(grpc::CallbackServerContext* context,
                                                                         const grpc::ByteBuffer* request) {
  return new PrepareCall(services_, context, request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompilerServiceImpl::FetchArtifact(grpc::CallbackServerContext* context,
                                                                               const grpc::ByteBuffer* request) {
  return new FetchCall(services_, context, request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CompilerServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  return new SessionCall(sessions_, services_, context);
}

grpc::ServerUnaryReactor* CompilerServiceImpl::Explain(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return new ExplainCall(services_, explainer_, context, request, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompilerServiceImpl::Tune(grpc::CallbackServerContext* context,
                                                                      const grpc::ByteBuffer* request) {
  return new TuneCall(services_, tuner_, context, request);
}

grpc::ServerUnaryReactor* CompilerServiceImpl::AnswerTiming(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  return new AnswerTimingCall(services_, tuner_, context, request, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompilerServiceImpl::CompileBlob(grpc::CallbackServerContext* context,
                                                                             const grpc::ByteBuffer* request) {
  return new BlobCall(services_, blobs_, context, request);
}

void OpenSessions::end_all() {
  std::lock_guard lock(mutex);
  for (SessionCall* session : calls) {
    session->end(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon is shutting down"));
  }
}

}  // namespace hearth::daemon
