// A call of Tune, read to its end. Used by one thread.
//
//   const Tuned tuned = tune(fixture.compiler(), tune_request({"kernel:a"}), context);
#pragma once
#include <string>
#include <vector>

#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {

struct Tuned {
  grpc::Status status;
  v1::TuneResult result;
  std::vector<v1::TuneProgress> progress;
};

inline v1::TuneRequest tune_request(const std::vector<std::string>& names) {
  v1::TuneRequest request;
  request.set_protocol_version(kProtocolVersion);
  *request.mutable_graph() = test_graph(names);
  *request.mutable_target() = test_target();
  return request;
}

inline Tuned tune(v1::CompilerService::Stub& stub, const v1::TuneRequest& request, grpc::ClientContext& context) {
  Tuned tuned;
  auto stream = stub.Tune(&context, request);
  v1::TuneEvent event;
  while (stream->Read(&event)) {
    if (event.has_progress()) tuned.progress.push_back(event.progress());
    if (event.has_result()) tuned.result = event.result();
  }
  tuned.status = stream->Finish();
  return tuned;
}

inline Tuned tune(DaemonFixture& fixture, const std::vector<std::string>& names) {
  grpc::ClientContext context;
  return tune(fixture.compiler(), tune_request(names), context);
}

}  // namespace hearth::daemon
