#include "daemon/blob_call.h"

#include <utility>

namespace hearth::daemon {

BlobCall::BlobCall(const CallServices& services, BlobBuilder* blobs, grpc::CallbackServerContext* context,
                   const v1::CompileBlobRequest* request)
    : services_(services), context_(context), token_(services.activity->begin()), link_(std::make_shared<Link>()) {
  link_->call = this;
  BlobBuilder::Caller caller;
  caller.done = [link = link_](absl::StatusOr<BlobAnswer> answer) {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->answer(std::move(answer));
  };
  if (request->want_progress()) {
    caller.progress = [link = link_](BlobStage stage) {
      std::lock_guard lock(link->mutex);
      if (link->call != nullptr) link->call->report(stage);
    };
    std::lock_guard lock(link_->mutex);
    report(BlobStage::kQueued);
  }
  std::shared_ptr<BlobBuilder::Job> job = blobs->compile(*request, std::move(caller));
  bool left = false;
  {
    std::lock_guard lock(link_->mutex);
    job_ = job;
    left = settled_;
  }
  if (left) job->cancel();
}

void BlobCall::report(BlobStage stage) {
  if (settled_) return;
  v1::BlobProgress& progress = *pending_.emplace_back().mutable_progress();
  progress.set_state(stage == BlobStage::kQueued ? v1::BlobProgress::QUEUED : v1::BlobProgress::COMPILING);
  progress.set_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
  write_next();
}

void BlobCall::answer(absl::StatusOr<BlobAnswer> answer) {
  if (settled_) return;
  if (!answer.ok()) return finish(answer.status(), BlobOutcome::kError);
  built_ = answer->built;
  v1::BlobResult& result = *pending_.emplace_back().mutable_result();
  result.set_key(to_bytes(built_->blob.key));
  result.mutable_artifact()->set_digest(to_bytes(built_->blob.artifact.digest));
  result.mutable_artifact()->set_size(built_->blob.artifact.size_bytes);
  result.mutable_artifact()->set_path(services_.store->artifact_path(built_->blob.artifact.digest));
  result.set_hit(answer->outcome == BlobOutcome::kHit);
  result.set_joined(answer->outcome == BlobOutcome::kJoined);
  result.set_compile_seconds(built_->seconds);
  result.set_log(built_->log);
  finish(absl::OkStatus(), answer->outcome);
}

void BlobCall::finish(const absl::Status& status, BlobOutcome outcome) {
  settled_ = true;
  services_.metrics->count(outcome);
  status_ = to_grpc_status(status, context_);
  write_next();
}

void BlobCall::write_next() {
  if (busy_ || finished_) return;
  if (pending_.empty()) {
    if (!settled_) return;
    finished_ = true;
    Finish(status_);
    return;
  }
  writing_ = std::move(pending_.front());
  pending_.pop_front();
  busy_ = true;
  if (settled_ && pending_.empty()) {
    finished_ = true;
    StartWriteAndFinish(&writing_, grpc::WriteOptions(), status_);
  } else {
    StartWrite(&writing_);
  }
}

void BlobCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  busy_ = false;
  if (!ok) pending_.clear();  // the stream is broken; OnCancel settles it
  write_next();
}

void BlobCall::OnCancel() {
  std::shared_ptr<BlobBuilder::Job> job;  // cancelled unlocked: it may end a worker
  {
    std::lock_guard lock(link_->mutex);
    job = job_;
    if (!settled_) {
      pending_.clear();
      finish(absl::CancelledError("the caller left or its deadline passed"), BlobOutcome::kError);
    }
  }
  if (job) job->cancel();
}

void BlobCall::OnDone() {
  {
    std::lock_guard lock(link_->mutex);
    link_->call = nullptr;
  }
  delete this;
}

}  // namespace hearth::daemon
