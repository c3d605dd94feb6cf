// TuneCall: one Tune stream: translates between protos and Tuner, streams progress. Lives as EventStream says.
//   return new TuneCall(calls, &tuner, context, request);
#pragma once
#include "daemon/serve/event_stream.h"
#include "daemon/serve/prepare_call.h"
#include "daemon/tune/tuner.h"

namespace hearth::daemon {

class TuneCall final : public EventStream<v1::TuneEvent> {
 public:
  TuneCall(const CallServices& services, Tuner* tuner, grpc::CallbackServerContext* context,
           const v1::TuneRequest* request);

 private:
  void report(const v1::TuneProgress& progress);
  void answer(absl::StatusOr<v1::TuneResult> result);
};

}  // namespace hearth::daemon
