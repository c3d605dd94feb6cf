// BlobCall: one CompileBlob stream: translates between protos and BlobBuilder, counts the outcome, streams progress.
// Lives as EventStream says.
//   return new BlobCall(calls, &blobs, context, request);
#pragma once
#include <chrono>
#include <memory>

#include "daemon/blobs/blob_builder.h"
#include "daemon/serve/event_stream.h"
#include "daemon/serve/prepare_call.h"

namespace hearth::daemon {

class BlobCall final : public EventStream<v1::CompileBlobEvent> {
 public:
  BlobCall(const CallServices& services, BlobBuilder* blobs, grpc::CallbackServerContext* context,
           const v1::CompileBlobRequest* request);

 private:
  void report(BlobStage stage);
  void answer(absl::StatusOr<BlobAnswer> answer);
  void count_failure() override { services_.metrics->count(absent_ ? BlobOutcome::kMiss : BlobOutcome::kError); }

  const CallServices services_;
  const Metrics::Call counted_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool absent_ = false;                     // looked for only, and not there
  std::shared_ptr<const BuiltBlob> built_;  // its file stays until the client has the answer
};

}  // namespace hearth::daemon
