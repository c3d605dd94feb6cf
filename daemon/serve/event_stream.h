// EventStream: what calls that answer with a stream of events share: a reactor of gRPC's callback API with a queue of
// events, one write under way at a time and one outcome. Deletes itself when gRPC is done with it. What is written is
// charged to the memory for answers until the client has read it: progress that finds no room is left out, the outcome
// waits for it, and a client that reads nothing for too long is cancelled.
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
#include "daemon/serve/call_services.h"
#include "daemon/serve/grpc_status.h"
#include "daemon/serve/message_bytes.h"

namespace hearth::daemon {

template <class Event>
class EventStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  void OnWriteDone(bool ok) final {
    std::lock_guard lock(link_->mutex);
    writing_ = false;
    charge_ = {};
    if (!ok) drop_pending();  // the stream is broken; OnCancel settles it
    write_next();
  }

  void OnCancel() final {
    std::function<void()> cancel;  // run and destroyed unlocked: it may call back
    {
      std::lock_guard lock(link_->mutex);
      if (!settled_) {
        cancel = std::move(cancel_);
        drop_pending();
        fail(absl::CancelledError("the caller left or its deadline passed"));
      } else if (last_) {  // it waited for room to be written
        drop_pending();
        write_next();
      }
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
  EventStream(const CallServices& services, grpc::CallbackServerContext* context)
      : context_(context),
        answers_(services.answers),
        client_(services.clients->of(*context)),
        token_(services.activity->begin()),
        link_(std::make_shared<Link>()) {
    link_->stream = this;
  }

  const ClientId& client() const { return client_; }

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

  // As callback(), but runs `method` unlocked. The call stays until it returns.
  template <class Call>
  std::function<void()> unlocked_callback(void (Call::*method)()) {
    return [link = link_, method] {
      std::unique_lock lock(link->mutex);
      EventStream* stream = link->stream;
      if (stream == nullptr || stream->settled_) return;
      ++stream->num_unlocked_;  // holds Finish back, and so OnDone
      lock.unlock();
      (static_cast<Call*>(stream)->*method)();
      lock.lock();
      --stream->num_unlocked_;
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

  void send(Event progress) {
    pending_.push_back(std::move(progress));
    write_next();
  }
  // Takes the place of progress that still waits to be written.
  void send_newest(Event progress) {
    if (!pending_.empty() && pending_.back().has_progress()) pending_.pop_back();
    send(std::move(progress));
  }
  std::size_t num_pending() const { return pending_.size(); }

  // The outcome: an event, made when there is room for its `bytes`, or an error.
  void finish(std::uint64_t bytes, std::function<Event()> last) {
    settled_ = true;
    last_ = std::move(last);
    last_bytes_ = bytes;
    write_next();
  }
  void finish(Event last) {
    const std::uint64_t bytes = last.ByteSizeLong();
    auto shared = std::make_shared<Event>(std::move(last));
    finish(bytes, [shared] { return std::move(*shared); });
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

  void drop_pending() {
    pending_.clear();
    if (last_) status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the caller left or its deadline passed");
    last_ = nullptr;
    if (!writing_) charge_ = {};
  }

  // What takes the call's place in callbacks of the budget, also when its outcome is known.
  std::function<void()> while_open(void (EventStream::*method)()) {
    return [link = link_, method] {
      std::lock_guard lock(link->mutex);
      if (link->stream != nullptr) (link->stream->*method)();
    };
  }
  void cancel_call() { context_->TryCancel(); }
  void write_next() {
    if (writing_ || num_unlocked_ > 0 || finished_) return;
    if (!pending_.empty()) {
      Event event = std::move(pending_.front());
      pending_.pop_front();
      charge_ = answers_->try_take(client_, event.ByteSizeLong(), while_open(&EventStream::cancel_call));
      if (!charge_.has_room()) return write_next();
      bytes_ = to_byte_buffer(event);
      writing_ = true;
      StartWrite(&bytes_);
    } else if (last_) {
      write_last();
    } else if (settled_) {
      finished_ = true;
      Finish(status_);
    }
  }
  void write_last() {
    if (last_bytes_ > answers_->total_bytes()) {
      last_ = nullptr;
      finished_ = true;
      return Finish(too_large(last_bytes_, answers_->total_bytes()));
    }
    if (!waits_) {
      waits_ = true;
      charge_ = answers_->take(client_, last_bytes_, while_open(&EventStream::write_next),
                               while_open(&EventStream::cancel_call));
    }
    if (!charge_.has_room()) return;
    bytes_ = to_byte_buffer(last_());
    last_ = nullptr;
    finished_ = writing_ = true;
    StartWriteAndFinish(&bytes_, grpc::WriteOptions(), status_);
  }

  grpc::CallbackServerContext* const context_;
  MemoryBudget* const answers_;
  const ClientId client_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  std::function<void()> cancel_;
  std::deque<Event> pending_;
  std::function<Event()> last_;
  std::uint64_t last_bytes_ = 0;
  MemoryBudget::Charge charge_;  // of what is written, or of last_
  grpc::ByteBuffer bytes_;
  grpc::Status status_;
  int num_unlocked_ = 0;
  bool writing_ = false;   // a write is under way
  bool waits_ = false;     // last_ has a charge, or a place in line
  bool settled_ = false;   // outcome known
  bool finished_ = false;  // Finish was called
};

}  // namespace hearth::daemon
