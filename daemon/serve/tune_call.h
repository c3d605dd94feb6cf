// TuneCall: one Tune stream: translates between protos and Tuner, streams progress. Lives as EventStream says.
//   return new TuneCall(calls, &tuner, context, bytes);
#pragma once
#include "daemon/serve/request_stream.h"
#include "daemon/serve/unary_call.h"
#include "daemon/tune/tuner.h"

namespace hearth::daemon {

class TuneCall final : public RequestStream<v1::TuneRequest, v1::TuneEvent> {
 public:
  TuneCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
           const grpc::ByteBuffer* request);

 private:
  void begin() override;
  void report(const v1::TuneProgress& progress);
  void ask(const v1::TimingTask& task);
  void answer(absl::StatusOr<v1::TuneResult> result);

  Tuner* const tuner_;
  const bool is_sealed_;
};

// One AnswerTiming: what came of a task that a Tune stream has asked its caller for. Lives as UnaryCall says.
class AnswerTimingCall final : public UnaryCall {
 public:
  AnswerTimingCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response);
};

}  // namespace hearth::daemon
