#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

v1::ExplainResponse explain(DaemonFixture& fixture, const std::vector<std::string>& names, grpc::Status* status) {
  v1::ExplainRequest request;
  request.set_protocol_version(kProtocolVersion);
  *request.mutable_graph() = test_graph(names);
  *request.mutable_target() = test_target();
  grpc::ClientContext context;
  v1::ExplainResponse response;
  *status = fixture.compiler().Explain(&context, request, &response);
  return response;
}

TEST_CASE("explain: passes, kernels and what is cached; nothing is stored") {
  DaemonFixture fixture;
  grpc::Status status;
  const v1::ExplainResponse cold = explain(fixture, {"kernel:a", "kernel:b"}, &status);
  REQUIRE(status.ok());
  CHECK(cold.plan_key().size() == 32);
  CHECK(cold.key_parts_size() >= 3);
  CHECK_FALSE(cold.plan_cached());
  REQUIRE(cold.kernels_size() == 2);
  CHECK((cold.kernels(0).symbol() == "a" && cold.kernels(1).source() == "node b"));
  CHECK((!cold.kernels(0).cached() && cold.kernels(0).artifact_bytes() > 0));
  CHECK(cold.kernels(0).passes(0).name() == "fake codegen");
  CHECK(cold.passes(0).name() == "fake lowering");
  CHECK(fixture.stats().cache_entries() == 0);
  CHECK(fixture.stats().kernels_compiled() == 0);

  const Answer answer = fixture.prepare(test_request({"kernel:a"}));
  const v1::ExplainResponse warm = explain(fixture, {"kernel:a"}, &status);
  REQUIRE(status.ok());
  CHECK((warm.plan_cached() && warm.kernels(0).cached()));
  CHECK(warm.plan_key() == answer.result.plan_key());
  CHECK(warm.plan().kernels(0).artifact() == answer.result.artifacts(0).digest());
  CHECK(warm.kernels(0).artifact_bytes() == answer.result.artifacts(0).size());
  CHECK(warm.nearest_plan_key().empty());
  fixture.check_identity(1);
}

TEST_CASE("explain: a miss names the parts of the key in which the nearest stored plan differs") {
  DaemonFixture fixture;
  grpc::Status status;
  CHECK(explain(fixture, {"kernel:a"}, &status).nearest_plan_key().empty());  // nothing is stored yet
  const Answer stored = fixture.prepare(test_request({"kernel:a"}));
  const v1::ExplainResponse miss = explain(fixture, {"kernel:b"}, &status);
  REQUIRE(status.ok());
  CHECK_FALSE(miss.plan_cached());
  CHECK(miss.nearest_plan_key() == stored.result.plan_key());
  REQUIRE(miss.differing_parts_size() == 1);
  CHECK(miss.differing_parts(0) == "graph.nodes");
}

TEST_CASE("explain: errors are the compiler's") {
  DaemonFixture fixture;
  grpc::Status status;
  explain(fixture, {"lower:error"}, &status);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  explain(fixture, {"kernel:fine", "kernel:crash"}, &status);
  CHECK(status.error_code() == grpc::StatusCode::INTERNAL);
  explain(fixture, {}, &status);
  CHECK(status.error_message() == "the graph has no nodes");
}

}  // namespace
}  // namespace hearth::daemon
