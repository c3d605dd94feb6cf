// CompilerService of the protos on gRPC's callback API: no call owns a thread. Translates only; the work is in
// Preparer, Explainer, Tuner, BlobBuilder, Leases and ResultStore. Thread-safe.
//   CompilerServiceImpl service(calls, &explainer, &tuner, &blobs);
//   builder.RegisterService(&service);
#pragma once
#include <set>

#include "daemon/build/explainer.h"
#include "daemon/serve/blob_call.h"
#include "daemon/serve/prepare_call.h"
#include "daemon/serve/tune_call.h"
#include "hearth/v1/compiler_service.grpc.pb.h"

namespace hearth::daemon {

class SessionCall;

class CompilerServiceImpl : public v1::CompilerService::CallbackService {
 public:
  CompilerServiceImpl(const CallServices& services, Explainer* explainer, Tuner* tuner, BlobBuilder* blobs)
      : services_(services), explainer_(explainer), tuner_(tuner), blobs_(blobs) {}

  grpc::ServerWriteReactor<v1::PrepareEvent>* Prepare(grpc::CallbackServerContext* context,
                                                      const v1::PrepareRequest* request) override;
  grpc::ServerWriteReactor<v1::FetchArtifactChunk>* FetchArtifact(grpc::CallbackServerContext* context,
                                                                  const v1::FetchArtifactRequest* request) override;
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const v1::ExplainRequest* request,
                                    v1::ExplainResponse* response) override;
  grpc::ServerWriteReactor<v1::TuneEvent>* Tune(grpc::CallbackServerContext* context,
                                                const v1::TuneRequest* request) override;
  grpc::ServerWriteReactor<v1::CompileBlobEvent>* CompileBlob(grpc::CallbackServerContext* context,
                                                              const v1::CompileBlobRequest* request) override;

  // Ends every Session stream with UNAVAILABLE: their clients must not hold the drain up.
  void end_sessions();

 private:
  friend class SessionCall;
  const CallServices services_;
  Explainer* const explainer_;
  Tuner* const tuner_;
  BlobBuilder* const blobs_;
  std::mutex mutex_;
  std::set<SessionCall*> sessions_;
};

}  // namespace hearth::daemon
