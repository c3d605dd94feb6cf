#include "daemon/tune_call.h"

#include <utility>

namespace hearth::daemon {

TuneCall::TuneCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
                   const v1::TuneRequest* request)
    : context_(context), token_(services.activity->begin()), link_(std::make_shared<Link>()) {
  link_->call = this;
  Tuner::Caller caller;
  caller.done = [link = link_](absl::StatusOr<v1::TuneResult> result) {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->answer(std::move(result));
  };
  caller.progress = [link = link_](const v1::TuneProgress& progress) {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->report(progress);
  };
  std::shared_ptr<Tuner::Job> job = tuner->tune(*request, std::move(caller));
  bool left = false;
  {
    std::lock_guard lock(link_->mutex);
    job_ = job;
    left = settled_;
  }
  if (job && left) job->cancel();
}

void TuneCall::report(const v1::TuneProgress& progress) {
  if (settled_) return;
  // Only the newest counts.
  if (!pending_.empty() && pending_.back().has_progress()) pending_.pop_back();
  *pending_.emplace_back().mutable_progress() = progress;
  write_next();
}

void TuneCall::answer(absl::StatusOr<v1::TuneResult> result) {
  if (settled_) return;
  settled_ = true;
  status_ = to_grpc_status(result.status(), context_);
  if (result.ok()) pending_.emplace_back().mutable_result()->Swap(&*result);
  write_next();
}

void TuneCall::write_next() {
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
  StartWrite(&writing_);
}

void TuneCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  busy_ = false;
  if (!ok) pending_.clear();  // the stream is broken; OnCancel settles it
  write_next();
}

void TuneCall::OnCancel() {
  std::shared_ptr<Tuner::Job> job;  // cancelled unlocked: it may call back
  {
    std::lock_guard lock(link_->mutex);
    job = job_;
    if (!settled_) {
      settled_ = true;
      pending_.clear();
      status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the caller left or its deadline passed");
      write_next();
    }
  }
  if (job) job->cancel();
}

void TuneCall::OnDone() {
  {
    std::lock_guard lock(link_->mutex);
    link_->call = nullptr;
  }
  delete this;
}

}  // namespace hearth::daemon
