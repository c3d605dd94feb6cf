// BlobCall: one CompileBlob stream: translates between protos and BlobBuilder, counts the outcome, streams progress.
// Lives as EventStream says.
//   return new BlobCall(calls, &blobs, context, bytes);
#pragma once
#include <chrono>
#include <memory>

#include "daemon/blobs/blob_builder.h"
#include "daemon/metrics.h"
#include "daemon/serve/request_stream.h"

namespace hearth::daemon {

class BlobCall final : public RequestStream<v1::CompileBlobRequest, v1::CompileBlobEvent> {
 public:
  BlobCall(const CallServices& services, BlobBuilder* blobs, grpc::CallbackServerContext* context,
           const grpc::ByteBuffer* request);

 private:
  void begin() override;
  void report(BlobStage stage);
  void answer(absl::StatusOr<BlobAnswer> answer);
  void count_failure() override { services_.metrics->count(absent_ ? BlobOutcome::kMiss : BlobOutcome::kError); }

  const CallServices services_;
  BlobBuilder* const blobs_;
  const Metrics::Call counted_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool absent_ = false;
  bool over_quota_ = false;  // nothing is compiled for the call                     // looked for only, and not there
  std::shared_ptr<const BuiltBlob> built_;  // its file stays until the client has the answer
};

}  // namespace hearth::daemon
