// What Prepare's stream does with requests that are too large for a network thread, and with callers that leave.
#include <grpc/grpc.h>

#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

// Who gives up gRPC last waits for its threads, up to 10 s for one that polls, as after a large message: keep it.
struct KeepGrpc {
  KeepGrpc() { grpc_init(); }
};

v1::PrepareRequest large_request(const std::string& name) {
  v1::PrepareRequest request = test_request({name});
  request.mutable_graph()->mutable_nodes(0)->set_data(std::string(2 << 20, 'x'));
  request.set_want_progress(true);
  return request;
}

}  // namespace

TEST_CASE("event stream: a large request is served, found again and refused as a small one is") {
  const KeepGrpc keep_grpc;
  DaemonFixture fixture;
  const Answer miss = fixture.prepare(large_request("kernel:a"));
  REQUIRE(miss.status.ok());
  CHECK(miss.result.compiled_kernels() == 1);
  REQUIRE_FALSE(miss.progress.empty());
  CHECK(miss.progress.front().state() == v1::PrepareProgress::QUEUED);
  const Answer hit = fixture.prepare(large_request("kernel:a"));
  CHECK((hit.status.ok() && hit.result.plan_hit() && hit.progress.empty()));
  CHECK(hit.result.plan() == miss.result.plan());
  v1::PrepareRequest refused = large_request("kernel:a");
  refused.set_protocol_version(9);
  CHECK(fixture.prepare(refused).status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  fixture.check_identity(3);
  CHECK(fixture.stats().plan_errors() == 1);
}

TEST_CASE("event stream: a caller that leaves is one error, and its compile is ended") {
  const KeepGrpc keep_grpc;
  for (const bool large : {false, true}) {
    DaemonFixture fixture;
    v1::PrepareRequest request = large_request("kernel:hang");
    if (!large) request.mutable_graph()->mutable_nodes(0)->clear_data();
    grpc::ClientContext context;
    const Answer left =
        DaemonFixture::prepare(request, fixture.compiler(), context, [&context] { context.TryCancel(); });
    CAPTURE(large);
    CHECK(left.status.error_code() == grpc::StatusCode::CANCELLED);
    // Both workers take new work: the one that hung was ended.
    CHECK(fixture.prepare(test_request({"kernel:x", "kernel:y"})).status.ok());
    const v1::StatsResponse stats = fixture.stats();
    CHECK((stats.requests() == 2 && stats.plan_errors() == 1 && stats.plan_misses() == 1));
    CHECK(fixture.daemon().drain());  // no call is left open
  }
}

}  // namespace hearth::daemon
