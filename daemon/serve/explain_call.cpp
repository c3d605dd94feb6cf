#include "daemon/serve/explain_call.h"

#include <utility>

namespace hearth::daemon {

ExplainCall::ExplainCall(const CallServices& services, Explainer* explainer, grpc::CallbackServerContext* context,
                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
    : UnaryCall(services, context, response),
      bytes_(const_cast<grpc::ByteBuffer*>(request)),
      link_(std::make_shared<Link>()) {
  Executor* const executor = services.preparer->services().executor;
  MemoryBudget* const budget = services.requests;
  link_->call = this;
  // Measuring is not for a network thread: whoever asks for an explanation can wait for the executor.
  executor->post_for(client(), [link = link_, explainer, budget] {
    std::unique_lock lock(link->mutex);
    ExplainCall* const call = link->call;
    if (call == nullptr || call->finished_) return;
    const absl::StatusOr<std::uint64_t> cost =
        request_cost(*call->bytes_, *v1::ExplainRequest::descriptor(), budget->total_bytes());
    if (!cost.ok()) return call->settle(cost.status());
    const auto go = [link, explainer] { begin(link, explainer); };
    call->request_charge_ = budget->take(call->client(), *cost, go);
    const bool at_once = call->request_charge_.has_room();
    lock.unlock();
    if (at_once) go();
  });
}

void ExplainCall::begin(const std::shared_ptr<Link>& link, Explainer* explainer) {
  v1::ExplainRequest request;
  ClientId client;
  {
    std::lock_guard lock(link->mutex);
    ExplainCall* const call = link->call;
    if (call == nullptr || call->finished_ || std::exchange(call->begun_, true)) return;
    client = call->client();
    if (absl::Status read = from_byte_buffer(*call->bytes_, request); !read.ok()) return call->settle(read);
  }
  std::shared_ptr<Explainer::Job> job = explainer->explain(
      request, client, [link](absl::StatusOr<v1::ExplainResponse> explained) { answer(link, std::move(explained)); });
  if (!job) return;
  {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr && !link->call->finished_) {
      link->job = std::move(job);
      return;
    }
  }
  job->cancel();  // the caller left meanwhile
}

void ExplainCall::answer(const std::shared_ptr<Link>& link, absl::StatusOr<v1::ExplainResponse> explained) {
  std::lock_guard lock(link->mutex);
  if (link->call == nullptr) return;
  if (explained.ok()) {
    link->call->settle(*explained);
  } else {
    link->call->settle(explained.status());
  }
}

void ExplainCall::OnCancel() {
  std::shared_ptr<Explainer::Job> job;  // cancelled unlocked: it calls back
  {
    std::lock_guard lock(link_->mutex);
    job = std::move(link_->job);
    settle(absl::CancelledError("the caller left or its deadline passed"));
  }
  if (job) job->cancel();
}

void ExplainCall::OnDone() {
  std::shared_ptr<Explainer::Job> job;  // let go of unlocked
  {
    std::lock_guard lock(link_->mutex);
    link_->call = nullptr;
    job = std::move(link_->job);
  }
  UnaryCall::OnDone();
}

}  // namespace hearth::daemon
