// BlobCall: one CompileBlob stream of gRPC's callback API: translates between protos and BlobBuilder, counts the
// outcome, streams progress. Deletes itself when gRPC is done with it. Thread-safe inside.
//   return new BlobCall(calls, &blobs, context, request);
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "daemon/blob_builder.h"
#include "daemon/prepare_call.h"

namespace hearth::daemon {

class BlobCall : public grpc::ServerWriteReactor<v1::CompileBlobEvent> {
 public:
  BlobCall(const CallServices& services, BlobBuilder* blobs, grpc::CallbackServerContext* context,
           const v1::CompileBlobRequest* request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    BlobCall* call = nullptr;
  };

  // All with link_->mutex held.
  void report(BlobStage stage);
  void answer(absl::StatusOr<BlobAnswer> answer);
  void finish(const absl::Status& status, BlobOutcome outcome);
  void write_next();

  const CallServices services_;
  grpc::CallbackServerContext* const context_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::shared_ptr<BlobBuilder::Job> job_;
  std::shared_ptr<const BuiltBlob> built_;  // its file stays until the client has the answer
  std::deque<v1::CompileBlobEvent> pending_;
  v1::CompileBlobEvent writing_;
  grpc::Status status_;
  bool busy_ = false;      // a write is under way
  bool settled_ = false;   // outcome known and counted
  bool finished_ = false;  // Finish was called
};

}  // namespace hearth::daemon
