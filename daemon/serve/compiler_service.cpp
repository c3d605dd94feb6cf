#include "daemon/serve/compiler_service.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace hearth::daemon {
namespace {

// The file is opened and checked on the executor, then read a chunk at a time, as fast as the client takes them.
class FetchCall : public grpc::ServerWriteReactor<v1::FetchArtifactChunk> {
 public:
  FetchCall(const CallServices& services, grpc::CallbackServerContext* context, const v1::FetchArtifactRequest& request)
      : context_(context), token_(services.activity->begin()) {
    Digest digest;
    if (request.digest().size() != digest.size()) {
      Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                          absl::StrCat("a digest has 32 bytes, not ", request.digest().size())));
      return;
    }
    std::copy(request.digest().begin(), request.digest().end(), digest.begin());
    services.preparer->services().executor->post([this, store = services.store, digest] { open(*store, digest); });
  }

  void OnWriteDone(bool ok) override { ok ? write_next() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  static constexpr std::size_t kChunkBytes = 1u << 20;

  void open(ResultStore& store, const Digest& digest) {
    absl::StatusOr<ResultStore::ReadArtifact> opened = store.open_artifact(digest);
    spdlog::trace("artifact {} is fetched: {}", to_hex(digest).substr(0, 12),
                  opened.status().ok() ? "found" : "not found");
    if (!opened.ok()) return Finish(to_grpc_status(opened.status(), context_));
    read_ = *std::move(opened);
    write_next();
  }

  void write_next() {
    absl::StatusOr<std::string> bytes = read_(offset_, kChunkBytes);
    if (!bytes.ok() || bytes->empty()) return Finish(to_grpc_status(bytes.status(), context_));
    offset_ += bytes->size();
    chunk_.set_data(*std::move(bytes));
    StartWrite(&chunk_);
  }

  grpc::CallbackServerContext* const context_;
  const Activity::Token token_;
  ResultStore::ReadArtifact read_;
  std::uint64_t offset_ = 0;
  v1::FetchArtifactChunk chunk_;
};

class ExplainCall : public grpc::ServerUnaryReactor {
 public:
  ExplainCall(const CallServices& services, Explainer* explainer, grpc::CallbackServerContext* context,
              const v1::ExplainRequest& request, v1::ExplainResponse* response)
      : context_(context), response_(response), token_(services.activity->begin()), link_(std::make_shared<Link>()) {
    link_->call = this;
    job_ = explainer->explain(request, [link = link_](absl::StatusOr<v1::ExplainResponse> explained) {
      std::lock_guard lock(link->mutex);
      if (link->call != nullptr) link->call->finish(std::move(explained));
    });
  }

  void OnCancel() override {
    const std::shared_ptr<Explainer::Job> job = job_;  // cancelled unlocked: it calls back
    {
      std::lock_guard lock(link_->mutex);
      if (finished_) return;
      finish(absl::CancelledError("the caller left or its deadline passed"));
    }
    if (job) job->cancel();
  }

  void OnDone() override {
    {
      std::lock_guard lock(link_->mutex);
      link_->call = nullptr;
    }
    delete this;
  }

 private:
  struct Link {
    std::mutex mutex;
    ExplainCall* call = nullptr;
  };

  void finish(absl::StatusOr<v1::ExplainResponse> explained) {
    if (std::exchange(finished_, true)) return;
    if (explained.ok()) response_->Swap(&*explained);
    Finish(to_grpc_status(explained.status(), context_));
  }

  grpc::CallbackServerContext* const context_;
  v1::ExplainResponse* const response_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  std::shared_ptr<Explainer::Job> job_;
  bool finished_ = false;
};

}  // namespace

class SessionCall : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  SessionCall(CompilerServiceImpl* service) : service_(service), token_(service->services_.activity->begin()) {
    {
      std::lock_guard lock(service_->mutex_);
      service_->sessions_.insert(this);
    }
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return end(grpc::Status::OK);
    if (session_ == 0) {
      if (absl::Status status = check_protocol_version(request_.protocol_version()); !status.ok()) {
        return end(grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message())));
      }
      session_ = service_->services_.leases->open_session();
      spdlog::trace("a session opens, {} are open", service_->services_.leases->num_sessions());
      response_.set_session_id(session_);
      std::lock_guard lock(mutex_);
      if (finished_) return;
      StartWrite(&response_);
    }
    for (std::uint64_t lease : request_.release_lease_ids()) service_->services_.leases->release(session_, lease);
    std::lock_guard lock(mutex_);
    if (!finished_) StartRead(&request_);
  }

  void OnCancel() override { end(grpc::Status::CANCELLED); }

  void OnDone() override {
    {
      std::lock_guard lock(service_->mutex_);
      service_->sessions_.erase(this);
    }
    if (session_ != 0) {
      service_->services_.leases->close_session(session_);
      spdlog::trace("a session ends, {} are open", service_->services_.leases->num_sessions());
    }
    delete this;
  }

  void end(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (!std::exchange(finished_, true)) Finish(status);
  }

 private:
  CompilerServiceImpl* const service_;
  const Activity::Token token_;
  std::mutex mutex_;
  bool finished_ = false;
  std::uint64_t session_ = 0;  // touched by reads only, then by OnDone
  v1::SessionRequest request_;
  v1::SessionResponse response_;
};

grpc::ServerWriteReactor<v1::PrepareEvent>* CompilerServiceImpl::Prepare(grpc::CallbackServerContext* context,
                                                                         const v1::PrepareRequest* request) {
  return new PrepareCall(services_, context, request);
}

grpc::ServerWriteReactor<v1::FetchArtifactChunk>* CompilerServiceImpl::FetchArtifact(
    grpc::CallbackServerContext* context, const v1::FetchArtifactRequest* request) {
  return new FetchCall(services_, context, *request);
}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* CompilerServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  return new SessionCall(this);
}

grpc::ServerUnaryReactor* CompilerServiceImpl::Explain(grpc::CallbackServerContext* context,
                                                       const v1::ExplainRequest* request,
                                                       v1::ExplainResponse* response) {
  return new ExplainCall(services_, explainer_, context, *request, response);
}

grpc::ServerWriteReactor<v1::TuneEvent>* CompilerServiceImpl::Tune(grpc::CallbackServerContext* context,
                                                                   const v1::TuneRequest* request) {
  return new TuneCall(services_, tuner_, context, request);
}

grpc::ServerWriteReactor<v1::CompileBlobEvent>* CompilerServiceImpl::CompileBlob(
    grpc::CallbackServerContext* context, const v1::CompileBlobRequest* request) {
  return new BlobCall(services_, blobs_, context, request);
}

void CompilerServiceImpl::end_sessions() {
  std::lock_guard lock(mutex_);
  for (SessionCall* session : sessions_) {
    session->end(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon is shutting down"));
  }
}

}  // namespace hearth::daemon
