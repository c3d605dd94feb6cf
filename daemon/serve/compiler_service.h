// CompilerService of the protos on gRPC's callback API: no call owns a thread. Requests and answers are bytes here: a
// request is measured before it is parsed (daemon/serve/message_bytes). Translates only; the work is in Preparer,
// Explainer, Tuner, BlobBuilder, Leases and ResultStore. Thread-safe.
//   CompilerServiceImpl service(calls, &explainer, &tuner, &blobs, &sessions);
//   builder.RegisterService(&service);
#pragma once
#include <mutex>
#include <set>

#include "daemon/serve/call_services.h"
#include "hearth/v1/compiler_service.grpc.pb.h"

namespace hearth::daemon {

class BlobBuilder;
class Explainer;
class SessionCall;
class Tuner;

using CompilerServiceOfBytes =
    v1::CompilerService::WithRawCallbackMethod_Prepare<v1::CompilerService::WithRawCallbackMethod_FetchArtifact<
        v1::CompilerService::WithRawCallbackMethod_Session<v1::CompilerService::WithRawCallbackMethod_Explain<
            v1::CompilerService::WithRawCallbackMethod_Tune<v1::CompilerService::WithRawCallbackMethod_AnswerTiming<
                v1::CompilerService::WithRawCallbackMethod_CompileBlob<v1::CompilerService::Service>>>>>>>;

// The sessions of all servers, so that a drain ends them.
struct OpenSessions {
  std::mutex mutex;
  std::set<SessionCall*> calls;

  // Ends every Session stream with UNAVAILABLE: their clients must not hold the drain up.
  void end_all();
};

class CompilerServiceImpl : public CompilerServiceOfBytes {
 public:
  CompilerServiceImpl(const CallServices& services, Explainer* explainer, Tuner* tuner, BlobBuilder* blobs,
                      OpenSessions* sessions)
      : services_(services), explainer_(explainer), tuner_(tuner), blobs_(blobs), sessions_(sessions) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Prepare(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FetchArtifact(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Tune(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* AnswerTiming(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* CompileBlob(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request) override;

 private:
  const CallServices services_;
  Explainer* const explainer_;
  Tuner* const tuner_;
  BlobBuilder* const blobs_;
  OpenSessions* const sessions_;
};

}  // namespace hearth::daemon
