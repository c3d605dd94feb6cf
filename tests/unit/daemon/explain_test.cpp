#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

v1::ExplainRequest explain_request(const v1::Graph& graph) {
  v1::ExplainRequest request;
  request.set_protocol_version(kProtocolVersion);
  *request.mutable_graph() = graph;
  *request.mutable_target() = test_target();
  return request;
}

v1::ExplainResponse explain(DaemonFixture& fixture, const v1::ExplainRequest& request, grpc::Status* status) {
  grpc::ClientContext context;
  v1::ExplainResponse response;
  *status = fixture.compiler().Explain(&context, request, &response);
  return response;
}

v1::ExplainResponse explain(DaemonFixture& fixture, const std::vector<std::string>& names, grpc::Status* status) {
  return explain(fixture, explain_request(test_graph(names)), status);
}

TEST_CASE("explain: passes, kernels and what was cached; what it compiles is kept for everybody") {
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
  CHECK((cold.kernels(0).launches() == 1 && cold.compiled_kernels() == 2));
  CHECK(cold.passes(0).name() == "fake lowering");
  CHECK(cold.kernels(0).passes_size() == 0);    // not asked for
  CHECK(fixture.stats().cache_entries() == 4);  // the kernels, the plan and what it read
  CHECK(fixture.stats().kernels_compiled() == 2);

  const Answer answer = fixture.prepare(test_request({"kernel:a", "kernel:b"}));
  CHECK(answer.result.plan_hit());
  const v1::ExplainResponse warm = explain(fixture, {"kernel:a", "kernel:b"}, &status);
  REQUIRE(status.ok());
  CHECK((warm.plan_cached() && warm.kernels(0).cached() && warm.compiled_kernels() == 0));
  CHECK(warm.plan_key() == answer.result.plan_key());
  CHECK(warm.plan().kernels(0).artifact() == answer.result.artifacts(0).digest());
  CHECK(warm.kernels(0).artifact_bytes() == answer.result.artifacts(0).size());
  CHECK(warm.nearest_plan_key().empty());
  fixture.check_identity(1);
}

TEST_CASE("explain: the passes of kernels that are asked for, by name or number, cached or not") {
  DaemonFixture fixture;
  v1::ExplainRequest request = explain_request(test_graph({"kernel:a", "kernel:b"}));
  grpc::Status status;
  for (const bool cached : {false, true}) {
    request.clear_dump_kernels();
    request.add_dump_kernels("b");
    const v1::ExplainResponse named = explain(fixture, request, &status);
    REQUIRE(status.ok());
    CHECK(named.kernels(1).cached() == cached);
    CHECK(named.kernels(0).passes_size() == 0);
    REQUIRE(named.kernels(1).passes_size() == 1);
    CHECK(named.kernels(1).passes(0).name() == "fake codegen");
    CHECK(named.notes_size() == 0);  // what is shown is what is stored
  }
  request.set_dump_kernels(0, "0");
  CHECK(explain(fixture, request, &status).kernels(0).passes_size() == 1);
  request.mutable_options()->set_dump(true);
  CHECK(explain(fixture, request, &status).kernels(1).passes_size() == 1);
  CHECK(fixture.stats().kernels_compiled() == 2);  // those that are shown are not compiled for anybody

  for (const char* unknown : {"c", "2", "-1"}) {
    request.set_dump_kernels(0, unknown);
    explain(fixture, request, &status);
    CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
    CHECK(status.error_message().find(unknown) != std::string::npos);
  }
}

TEST_CASE("explain: a miss names the parts of the key in which a stored plan of the same model differs") {
  DaemonFixture fixture;
  grpc::Status status;
  v1::ExplainRequest request = explain_request(test_graph({"kernel:a"}));
  const v1::ExplainResponse first = explain(fixture, request, &status);
  CHECK(first.nearest_plan_key().empty());  // nothing was stored yet

  request.mutable_target()->set_threads(3);
  const v1::ExplainResponse threads = explain(fixture, request, &status);
  REQUIRE(status.ok());
  CHECK_FALSE(threads.plan_cached());
  CHECK(threads.nearest_plan_key() == first.plan_key());
  REQUIRE(threads.differing_parts_size() == 1);
  CHECK(threads.differing_parts(0) == "target.threads");

  request = explain_request(test_graph({"kernel:a"}));
  request.mutable_graph()->mutable_nodes(0)->add_args()->add_tokens()->set_value(8);
  const v1::ExplainResponse longer = explain(fixture, request, &status);
  CHECK(longer.nearest_plan_key() == first.plan_key());
  REQUIRE(longer.differing_parts_size() == 1);
  CHECK(longer.differing_parts(0) == "graph.nodes");
}

TEST_CASE("explain: a plan of another model is not named, however alike their keys are") {
  DaemonFixture fixture;
  grpc::Status status;
  explain(fixture, {"kernel:a"}, &status);
  const v1::ExplainResponse other = explain(fixture, {"kernel:b"}, &status);
  REQUIRE(status.ok());
  CHECK(other.nearest_plan_key().empty());
  CHECK(other.differing_parts_size() == 0);
}

TEST_CASE("explain: errors are the compiler's, and what could be compiled is kept") {
  DaemonFixture fixture;
  grpc::Status status;
  explain(fixture, {"lower:error"}, &status);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  explain(fixture, {"kernel:fine", "kernel:crash"}, &status);
  CHECK(status.error_code() == grpc::StatusCode::INTERNAL);
  explain(fixture, std::vector<std::string>{}, &status);
  CHECK(status.error_message() == "the graph has no nodes");
}

}  // namespace
}  // namespace hearth::daemon
