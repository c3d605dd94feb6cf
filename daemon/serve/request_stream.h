// RequestStream: an EventStream whose request is measured on the wire, waits for its memory, and is parsed then.
// `begin` comes unlocked, once, when the request is there; a request that is too large or no such message fails the
// call before.
//   class TuneCall final : public RequestStream<v1::TuneRequest, v1::TuneEvent> { ... };
//   TuneCall::TuneCall(...) : RequestStream(services, context, bytes) { start(); }
#pragma once
#include <memory>
#include <utility>

#include "daemon/prepare/preparer.h"
#include "daemon/serve/event_stream.h"

namespace hearth::daemon {

template <class Request, class Event>
class RequestStream : public EventStream<Event> {
 protected:
  // `bytes` live as long as the call and are gRPC's, which has no further use for them.
  RequestStream(const CallServices& services, grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes)
      : EventStream<Event>(services, context),
        budget_(services.requests),
        executor_(services.preparer->services().executor),
        bytes_(const_cast<grpc::ByteBuffer*>(bytes)) {}

  // At the end of the constructor.
  void start() {
    if (bytes_->Length() <= kInlineBytes) {
      measure();
    } else {
      executor_->post_for(this->client(), this->unlocked_callback(&RequestStream::measure));
    }
  }
  const Request& request() const { return *request_; }
  // It may be kept beyond the call.
  std::shared_ptr<const Request> shared_request() const { return request_; }
  virtual void begin() = 0;

 private:
  static constexpr std::size_t kInlineBytes = 1u << 20;   // measuring and hashing more is not for a network thread
  static constexpr std::uint64_t kCallBytes = 16u << 10;  // of any call, gRPC's own included

  void measure() {
    const absl::StatusOr<std::uint64_t> cost =
        request_cost(*bytes_, *Request::descriptor(), budget_->total_bytes() - kCallBytes);
    if (!cost.ok()) {
      bytes_->Clear();
      return refuse(cost.status());
    }
    charge_ = budget_->take(this->client(), *cost + kCallBytes, this->unlocked_callback(&RequestStream::parse));
    if (charge_.has_room() && !parses_.exchange(true)) read();
  }
  // When there was no room at once.
  void parse() {
    if (!parses_.exchange(true)) read();
  }
  void read() {
    if (absl::Status read = from_byte_buffer(*bytes_, *request_); !read.ok()) return refuse(read);
    begin();
  }
  void refuse(const absl::Status& why) { this->callback (&RequestStream::fail_with)(why); }
  void fail_with(absl::Status why) { this->fail(why); }

  MemoryBudget* const budget_;
  Executor* const executor_;
  grpc::ByteBuffer* const bytes_;
  MemoryBudget::Charge charge_;
  std::atomic<bool> parses_{false};
  const std::shared_ptr<Request> request_ = std::make_shared<Request>();
};

}  // namespace hearth::daemon
