#include "daemon/prepare_call.h"

#include <absl/strings/cord.h>
#include <absl/types/optional.h>

#include <string>
#include <utility>

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxPendingProgress = 64;
// Hashing a graph larger than this is not for a network thread.
constexpr std::size_t kInlineRequestBytes = 1u << 20;

v1::PrepareEvent to_event(const Prepared& prepared, std::uint64_t lease, ResultStore& store) {
  v1::PrepareEvent event;
  v1::PrepareResult& result = *event.mutable_result();
  const BuiltPlan& built = *prepared.built;
  const bool compiled_here = prepared.outcome == PrepareOutcome::kMiss;
  result.set_plan_key(to_bytes(prepared.plan_key));
  result.set_plan(*built.plan.plan);
  for (const cache::ArtifactRef& artifact : built.plan.artifacts) {
    v1::ArtifactRef& ref = *result.add_artifacts();
    ref.set_digest(to_bytes(artifact.digest));
    ref.set_size(artifact.size_bytes);
    ref.set_path(store.artifact_path(artifact.digest));
  }
  result.set_lease_id(lease);
  result.set_compiled_kernels(compiled_here ? built.compiled_kernels : 0);
  result.set_cache_hits(built.found ? static_cast<std::uint32_t>(built.plan.artifacts.size()) : built.kernel_hits);
  result.set_plan_hit(prepared.outcome == PrepareOutcome::kHit);
  result.set_joined(prepared.outcome == PrepareOutcome::kJoined);
  return event;
}

}  // namespace

grpc::Status to_grpc_status(const absl::Status& status, grpc::CallbackServerContext* context) {
  if (status.ok()) return grpc::Status::OK;
  if (absl::optional<absl::Cord> retry = status.GetPayload(kRetryAfterMsPayload)) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", std::string(*retry));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

PrepareCall::PrepareCall(const CallServices& services, grpc::CallbackServerContext* context,
                         const v1::PrepareRequest* request)
    : services_(services),
      context_(context),
      request_(request),
      token_(services.activity->begin()),
      link_(std::make_shared<Link>()) {
  link_->call = this;
  if (request->ByteSizeLong() <= kInlineRequestBytes) {
    begin();
  } else {
    // The request lives until OnDone, which cannot come before Finish, which only answer() and OnCancel cause.
    services_.preparer->services().executor->post([link = link_] {
      std::unique_lock lock(link->mutex);
      PrepareCall* call = link->call;
      if (call == nullptr || call->settled_) return;
      call->busy_ = true;  // holds Finish back, so that the call stays while it is used unlocked
      lock.unlock();
      call->begin();
      lock.lock();
      call->busy_ = false;
      call->write_next();
    });
  }
}

void PrepareCall::begin() {
  Preparer::Caller caller;
  caller.done = [link = link_](absl::StatusOr<Prepared> prepared) {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->answer(std::move(prepared));
  };
  if (request_->want_progress()) {
    caller.progress = [link = link_](const BuildProgress& progress) {
      std::lock_guard lock(link->mutex);
      if (link->call != nullptr) link->call->report(progress);
    };
  }
  PlanFlights::Ticket ticket = services_.preparer->prepare(*request_, std::move(caller));
  std::lock_guard lock(link_->mutex);
  if (!settled_) {
    ticket_ = std::move(ticket);
    if (request_->want_progress() && !reported_) {
      pending_.emplace_back().mutable_progress()->set_state(v1::PrepareProgress::QUEUED);
      write_next();
    }
  }
}

void PrepareCall::report(const BuildProgress& progress) {
  if (settled_ || pending_.size() >= kMaxPendingProgress) return;
  // Kernels that are ready at once may be told in any order.
  if (progress.kernels_done < kernels_told_) return;
  kernels_told_ = progress.kernels_done;
  reported_ = true;
  v1::PrepareProgress& event = *pending_.emplace_back().mutable_progress();
  event.set_state(progress.lowering ? v1::PrepareProgress::LOWERING : v1::PrepareProgress::COMPILING);
  event.set_kernels_done(progress.kernels_done);
  event.set_kernels_total(progress.kernels_total);
  write_next();
}

void PrepareCall::answer(absl::StatusOr<Prepared> prepared) {
  if (settled_) return;
  if (!prepared.ok()) return finish(prepared.status(), PrepareOutcome::kError);
  std::uint64_t lease = 0;
  if (request_->session_id() != 0) {
    // A session that ended meanwhile (a draining daemon, a client on its way out) costs the lease, not the plan.
    lease = services_.leases->add(request_->session_id(), prepared->built->plan.hold).value_or(0);
  }
  pending_.push_back(to_event(*prepared, lease, *services_.store));
  finish(absl::OkStatus(), prepared->outcome);
}

void PrepareCall::finish(const absl::Status& status, PrepareOutcome outcome) {
  settled_ = true;
  services_.metrics->count(outcome);
  status_ = to_grpc_status(status, context_);
  write_next();
}

void PrepareCall::write_next() {
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

void PrepareCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  busy_ = false;
  if (!ok) pending_.clear();  // the stream is broken; OnCancel settles it
  write_next();
}

void PrepareCall::OnCancel() {
  PlanFlights::Ticket left;  // leaves unlocked
  std::lock_guard lock(link_->mutex);
  if (settled_) return;
  left = std::move(ticket_);
  pending_.clear();
  finish(absl::CancelledError("the caller left or its deadline passed"), PrepareOutcome::kError);
}

void PrepareCall::OnDone() {
  {
    std::lock_guard lock(link_->mutex);
    link_->call = nullptr;
  }
  delete this;
}

}  // namespace hearth::daemon
