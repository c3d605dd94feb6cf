#include "daemon/serve/tune_call.h"

#include <functional>
#include <utility>

#include "daemon/prepare/preparer.h"
#include "daemon/store/artifact_grants.h"

namespace hearth::daemon {

TuneCall::TuneCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
                   const grpc::ByteBuffer* request)
    : RequestStream(services, context, request), tuner_(tuner), is_sealed_(services.preparer->services().sealed) {
  start();
}

void TuneCall::begin() {
  if (!ArtifactGrants::is_trusted(client().uid)) {
    return std::invoke(
        callback(&TuneCall::answer),
        absl::PermissionDeniedError("tuning changes the kernels of all users of this daemon: its operator "
                                    "does it (as root, or as the daemon's user)"));
  }
  if (is_sealed_) {
    return std::invoke(callback(&TuneCall::answer),
                       absl::FailedPreconditionError("this daemon is sealed and compiles nothing"));
  }
  std::shared_ptr<Tuner::Job> job = tuner_->tune(request(), {.client = client(),
                                                             .done = callback(&TuneCall::answer),
                                                             .progress = callback(&TuneCall::report),
                                                             .time = callback(&TuneCall::ask)});
  if (job) on_cancel([job] { job->cancel(); });
}

void TuneCall::report(const v1::TuneProgress& progress) {
  v1::TuneEvent event;
  *event.mutable_progress() = progress;
  send_newest(std::move(event));
}

void TuneCall::ask(const v1::TimingTask& task) {
  v1::TuneEvent event;
  *event.mutable_timing() = task;
  send(std::move(event));
}

void TuneCall::answer(absl::StatusOr<v1::TuneResult> result) {
  if (!result.ok()) return fail(result.status());
  v1::TuneEvent event;
  event.mutable_result()->Swap(&*result);
  finish(std::move(event));
}

AnswerTimingCall::AnswerTimingCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
    : UnaryCall(services, context, response) {
  v1::TimingAnswer answer;
  absl::Status status = ArtifactGrants::is_trusted(client().uid)
                            ? read_small_request(*const_cast<grpc::ByteBuffer*>(request), answer)
                            : absl::PermissionDeniedError("timings are for the daemon's operator, who tunes");
  if (status.ok()) status = tuner->answer(answer);
  if (status.ok()) {
    finish(v1::TimingAnswered());
  } else {
    finish(status);
  }
}

}  // namespace hearth::daemon
