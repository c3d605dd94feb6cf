// UnaryCall: a unary call whose answer is charged to the memory for answers until it is gone. Deletes itself when gRPC
// is done with it; keeps the daemon from being idle until then. finish() once, from any thread. Example:
//   auto* call = new UnaryCall(services, context, response);
//   executor->post([call] { call->finish(answer()); });
//   return call;
#pragma once
#include <absl/status/status.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>

#include "daemon/activity.h"
#include "daemon/serve/call_services.h"
#include "daemon/serve/grpc_status.h"
#include "daemon/serve/message_bytes.h"

namespace hearth::daemon {

class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const CallServices& services, grpc::CallbackServerContext* context, grpc::ByteBuffer* response)
      : context_(context),
        response_(response),
        answers_(services.answers),
        client_(services.clients->of(*context)),
        token_(services.activity->begin()),
        link_(std::make_shared<Link>()) {
    link_->call = this;
  }

  void OnDone() override {
    {
      std::lock_guard lock(link_->mutex);
      link_->call = nullptr;
    }
    delete this;
  }

  void finish(const absl::Status& status) { Finish(to_grpc_status(status, context_)); }
  // An answer that finds no room is refused: it would take its memory while it waits.
  void finish(const google::protobuf::Message& answer) {
    const std::uint64_t bytes = answer.ByteSizeLong();
    if (bytes > answers_->total_bytes()) return Finish(too_large(bytes, answers_->total_bytes()));
    charge_ = answers_->try_take(client_, bytes, [link = link_] {
      std::lock_guard lock(link->mutex);
      if (link->call != nullptr) link->call->context_->TryCancel();
    });
    if (!charge_.has_room()) {
      return Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "answers that clients have not read yet leave no room for this one; read them, or try again"});
    }
    *response_ = to_byte_buffer(answer);
    Finish(grpc::Status::OK);
  }

 protected:
  const ClientId& client() const { return client_; }

 private:
  // What the budget holds instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    UnaryCall* call = nullptr;
  };

  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  MemoryBudget* const answers_;
  const ClientId client_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  MemoryBudget::Charge charge_;
};

}  // namespace hearth::daemon
