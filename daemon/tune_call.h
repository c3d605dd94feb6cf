// TuneCall: one Tune stream of gRPC's callback API: translates between protos and Tuner, streams progress. Deletes
// itself when gRPC is done with it. Thread-safe inside.
//   return new TuneCall(calls, &tuner, context, request);
#pragma once
#include <deque>
#include <memory>
#include <mutex>

#include "daemon/prepare_call.h"
#include "daemon/tuner.h"

namespace hearth::daemon {

class TuneCall : public grpc::ServerWriteReactor<v1::TuneEvent> {
 public:
  TuneCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
           const v1::TuneRequest* request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    TuneCall* call = nullptr;
  };

  // All with link_->mutex held.
  void report(const v1::TuneProgress& progress);
  void answer(absl::StatusOr<v1::TuneResult> result);
  void write_next();

  grpc::CallbackServerContext* const context_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  std::shared_ptr<Tuner::Job> job_;
  std::deque<v1::TuneEvent> pending_;
  v1::TuneEvent writing_;
  grpc::Status status_;
  bool busy_ = false;      // a write is under way
  bool settled_ = false;   // outcome known
  bool finished_ = false;  // Finish was called
};

}  // namespace hearth::daemon
