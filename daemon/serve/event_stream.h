// EventStream: what calls that answer with a stream of events share: a reactor of gRPC's callback API with a queue of
// events, one write under way at a time and one outcome. Deletes itself when gRPC is done with it.
//
// Threads: callbacks run the derived call's methods with the lock held, and not at all once the outcome is known;
// events, finish() and fail() are for such methods. A caller that leaves is an outcome too (CANCELLED). Example:
//   class TuneCall final : public EventStream<v1::TuneEvent> { ... };   // answer() calls finish(event) or fail(status)
//   auto job = tuner->tune(*request, {.done = callback(&TuneCall::answer), .progress = callback(&TuneCall::report)});
//   on_cancel([job] { job->cancel(); });
#pragma once
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/activity.h"
#include "daemon/serve/grpc_status.h"

namespace hearth::daemon {

template <class Event>
class EventStream : public grpc::ServerWriteReactor<Event> {
 public:
  void OnWriteDone(bool ok) final {
    std::lock_guard lock(link_->mutex);
    busy_ = false;
    if (!ok) pending_.clear();  // the stream is broken; OnCancel settles it
    write_next();
  }

  void OnCancel() final {
    std::function<void()> cancel;  // run and destroyed unlocked: it may call back
    {
      std::lock_guard lock(link_->mutex);
      if (settled_) return;
      cancel = std::move(cancel_);
      pending_.clear();
      fail(absl::CancelledError("the caller left or its deadline passed"));
    }
    if (cancel) cancel();
  }

  void OnDone() final {
    {
      std::lock_guard lock(link_->mutex);
      link_->stream = nullptr;
    }
    delete this;
  }

 protected:
  EventStream(Activity* activity, grpc::CallbackServerContext* context)
      : context_(context), token_(activity->begin()), link_(std::make_shared<Link>()) {
    link_->stream = this;
  }

  // What others may call at any time, also when the call is gone: runs `method` of this call, or nothing.
  template <class Call, class... Args>
  std::function<void(Args...)> callback(void (Call::*method)(Args...)) {
    return [link = link_, method](Args... args) {
      std::lock_guard lock(link->mutex);
      EventStream* stream = link->stream;
      if (stream == nullptr || stream->settled_) return;
      (static_cast<Call*>(stream)->*method)(std::forward<Args>(args)...);
    };
  }

  // As callback(), but runs `method` unlocked; only while nothing was sent. The call stays until it returns.
  template <class Call>
  std::function<void()> unlocked_callback(void (Call::*method)()) {
    return [link = link_, method] {
      std::unique_lock lock(link->mutex);
      EventStream* stream = link->stream;
      if (stream == nullptr || stream->settled_) return;
      stream->busy_ = true;  // holds Finish back, and so OnDone
      lock.unlock();
      (static_cast<Call*>(stream)->*method)();
      lock.lock();
      stream->busy_ = false;
      stream->write_next();
    };
  }

  // Unlocked, at most once: what to do when the caller leaves before the outcome is known; done at once when it is.
  void on_cancel(std::function<void()> cancel) {
    {
      std::lock_guard lock(link_->mutex);
      if (!settled_) {
        cancel_ = std::move(cancel);
        return;
      }
    }
    cancel();
  }

  void send(Event event) {
    pending_.push_back(std::move(event));
    write_next();
  }
  // Takes the place of progress that still waits to be written.
  void send_newest(Event event) {
    if (!pending_.empty() && pending_.back().has_progress()) pending_.pop_back();
    send(std::move(event));
  }
  std::size_t num_pending() const { return pending_.size(); }

  // The outcome: `last` event or an error.
  void finish(Event last) {
    settled_ = true;
    send(std::move(last));
  }
  void fail(const absl::Status& status) {
    settled_ = true;
    count_failure();
    status_ = to_grpc_status(status, context_);
    write_next();
  }

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    EventStream* stream = nullptr;
  };

  // For whoever counts outcomes; the lock is held.
  virtual void count_failure() {}

  void write_next() {
    if (busy_ || finished_) return;
    if (pending_.empty()) {
      if (!settled_) return;
      finished_ = true;
      this->Finish(status_);
      return;
    }
    writing_ = std::move(pending_.front());
    pending_.pop_front();
    busy_ = true;
    if (settled_ && pending_.empty()) {
      finished_ = true;
      this->StartWriteAndFinish(&writing_, grpc::WriteOptions(), status_);
    } else {
      this->StartWrite(&writing_);
    }
  }

  grpc::CallbackServerContext* const context_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  std::function<void()> cancel_;
  std::deque<Event> pending_;
  Event writing_;
  grpc::Status status_;
  bool busy_ = false;      // a write is under way
  bool settled_ = false;   // outcome known
  bool finished_ = false;  // Finish was called
};

}  // namespace hearth::daemon
