#include "daemon/serve/blob_call.h"

#include <utility>

#include "daemon/prepare/preparer.h"
#include "daemon/store/artifact_grants.h"

namespace hearth::daemon {

BlobCall::BlobCall(const CallServices& services, BlobBuilder* blobs, grpc::CallbackServerContext* context,
                   const grpc::ByteBuffer* request)
    : RequestStream(services, context, request),
      services_(services),
      blobs_(blobs),
      counted_(services.metrics->arrived(RequestKind::kBlob)) {
  start();
}

void BlobCall::begin() {
  BlobBuilder::Caller caller;
  caller.client = client();
  caller.done = callback(&BlobCall::answer);
  if (request().want_progress()) {
    caller.progress = callback(&BlobCall::report);
    caller.progress(BlobStage::kQueued);
  }
  v1::CompileBlobRequest wanted = request();
  const BuildServices& build = services_.preparer->services();
  over_quota_ = !build.accounts->check(client().uid).ok();
  if (build.sealed || over_quota_) wanted.set_only_if_cached(true);
  on_cancel([job = blobs_->compile(wanted, std::move(caller))] { job->cancel(); });
}

void BlobCall::report(BlobStage stage) {
  v1::CompileBlobEvent event;
  v1::BlobProgress& progress = *event.mutable_progress();
  progress.set_state(stage == BlobStage::kQueued ? v1::BlobProgress::QUEUED : v1::BlobProgress::COMPILING);
  progress.set_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
  send(std::move(event));
}

void BlobCall::answer(absl::StatusOr<BlobAnswer> answer) {
  if (!answer.ok()) {
    absent_ = is_absence(answer.status());
    if (over_quota_) services_.preparer->services().accounts->count_over_quota(client().uid);
    return fail(answer.status());
  }
  built_ = answer->built;
  v1::CompileBlobEvent event;
  v1::BlobResult& result = *event.mutable_result();
  result.set_key(to_bytes(built_->blob.key));
  result.mutable_artifact()->set_digest(to_bytes(built_->blob.artifact.digest));
  result.mutable_artifact()->set_size(built_->blob.artifact.size_bytes);
  services_.grants->grant(client().uid, built_->blob.artifact.digest);
  if (ArtifactGrants::is_trusted(client().uid))
    result.mutable_artifact()->set_path(services_.store->artifact_path(built_->blob.artifact.digest));
  result.set_hit(answer->outcome == BlobOutcome::kHit);
  result.set_joined(answer->outcome == BlobOutcome::kJoined);
  result.set_compile_seconds(built_->seconds);
  result.set_log(built_->log);
  services_.metrics->count(answer->outcome);
  finish(std::move(event));
}

}  // namespace hearth::daemon
