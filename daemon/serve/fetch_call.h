// FetchCall: one FetchArtifact stream: the artifact's bytes, a chunk at a time, as fast as the client takes them. A
// call holds its file open only while it has its share of the memory for answers; one that nobody reads loses both.
//   return new FetchCall(calls, context, bytes);
#pragma once
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>

#include "daemon/activity.h"
#include "daemon/serve/call_services.h"
#include "daemon/store/result_store.h"

namespace hearth::daemon {

class FetchCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  static constexpr std::size_t kChunkBytes = 256u << 10;

  FetchCall(const CallServices& services, grpc::CallbackServerContext* context, const grpc::ByteBuffer* request);
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What late callbacks hold instead of the call, which may be gone.
  struct Link {
    std::mutex mutex;
    FetchCall* call = nullptr;
  };

  void open();
  void write_next();
  void finish(const grpc::Status& status);

  grpc::CallbackServerContext* const context_;
  ResultStore& store_;
  const Activity::Token token_;
  const std::shared_ptr<Link> link_;  // its lock guards what follows
  Digest digest_{};
  MemoryBudget::Charge charge_;
  ResultStore::ReadArtifact read_;
  std::uint64_t offset_ = 0;
  grpc::ByteBuffer chunk_;
  bool finished_ = false;
};

}  // namespace hearth::daemon
