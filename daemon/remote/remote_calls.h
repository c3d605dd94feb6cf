// What RemoteEndpoint's calls are made of: the group that they belong to, which ends them with their endpoint, and calls
// of one request and one answer. Thread-safe.
#pragma once
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "daemon/remote/remote_endpoint.h"

namespace hearth::daemon {

// A call with its context, which goes when the call has ended, whoever still holds the call: a context holds its channel,
// and gRPC 1.51 aborts where the last channel goes on a thread of its own, which it would have to join.
class RemoteEndpoint::ContextCall : public RemoteCall {
 public:
  void cancel() override {
    const std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }
  // Until the call has ended.
  grpc::ClientContext& context() { return *context_; }
  void drop_context() {
    std::unique_ptr<grpc::ClientContext> context;
    const std::lock_guard lock(mutex_);
    context.swap(context_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
};

// The calls of an endpoint that are under way.
class RemoteEndpoint::Calls {
 public:
  // A call enters before it is sent; one that is refused, since the endpoint ends, is not sent.
  bool enter(std::shared_ptr<RemoteCall> call) {
    const std::lock_guard lock(mutex_);
    if (!ending_) calls_.insert(std::move(call));
    return !ending_;
  }
  // After its `done` has returned.
  void leave(const std::shared_ptr<ContextCall>& call) {
    call->drop_context();
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
    if (calls_.empty()) none_left_.notify_all();
  }
  void end() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    const std::set<std::shared_ptr<RemoteCall>> calls = calls_;
    lock.unlock();
    for (const std::shared_ptr<RemoteCall>& call : calls) call->cancel();
    lock.lock();
    none_left_.wait(lock, [this] { return calls_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::set<std::shared_ptr<RemoteCall>> calls_;
  bool ending_ = false;
};

template <class Request, class Response>
class RemoteEndpoint::Unary : public ContextCall {
 public:
  Request request;
  Response response;
};

// `begin` starts the call on a channel, with the context, request, response and callback that a stub takes.
template <class Begin, class Request, class Response>
RemoteEndpoint::Handle RemoteEndpoint::unary(Request request, const std::string& action_id, Begin begin,
                                             std::function<void(absl::Status, Response&)> done) {
  auto call = std::make_shared<Unary<Request, Response>>();
  call->request = std::move(request);
  const auto fail = [&](absl::Status status) { done(std::move(status), call->response); };
  const std::shared_ptr<grpc::Channel> channel = open(call->context(), action_id, 0, fail);
  if (!channel) return nullptr;
  if (!calls_->enter(call)) return fail(absl::CancelledError("the daemon is leaving")), nullptr;
  begin(channel, &call->context(), &call->request, &call->response,
        [this, call, done = std::move(done)](const grpc::Status& status) {
          // `this` is there until the call has left.
          done(status_of(status), call->response);
          const std::shared_ptr<Calls> calls = calls_;
          calls->leave(call);
        });
  return call;
}

}  // namespace hearth::daemon
