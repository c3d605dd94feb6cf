// ExplainCall: one Explain call: measures and parses the request, asks Explainer, answers as UnaryCall does.
//   return new ExplainCall(calls, &explainer, context, bytes, response);
#pragma once
#include <memory>
#include <mutex>

#include "daemon/prepare/explainer.h"
#include "daemon/serve/unary_call.h"

namespace hearth::daemon {

class ExplainCall final : public UnaryCall {
 public:
  ExplainCall(const CallServices& services, Explainer* explainer, grpc::CallbackServerContext* context,
              const grpc::ByteBuffer* request, grpc::ByteBuffer* response);
  void OnCancel() override;
  void OnDone() override;

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    ExplainCall* call = nullptr;
    std::shared_ptr<Explainer::Job> job;
  };

  // On the executor, when the request has its memory.
  static void begin(const std::shared_ptr<Link>& link, Explainer* explainer);
  static void answer(const std::shared_ptr<Link>& link, absl::StatusOr<v1::ExplainResponse> explained);
  template <class Outcome>
  void settle(const Outcome& outcome) {
    if (!std::exchange(finished_, true)) finish(outcome);
  }

  grpc::ByteBuffer* const bytes_;
  const std::shared_ptr<Link> link_;  // its lock guards what follows
  MemoryBudget::Charge request_charge_;
  bool begun_ = false;
  bool finished_ = false;
};

}  // namespace hearth::daemon
