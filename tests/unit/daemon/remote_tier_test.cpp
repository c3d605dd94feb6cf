// Nodes that share a cache: what one has compiled and signed, another loads; what is private stays; and a server that is
// slow, gone or lying costs nothing but its results.
#include <filesystem>
#include <fstream>

#include "tests/unit/daemon/blob_fixture.h"
#include "tests/unit/daemon/fleet_fixture.h"

namespace hearth::daemon {
namespace {

using Calls = Fleet::Calls;

const v1::PrepareRequest& some_request() {
  static const v1::PrepareRequest request = test_request({"kernel:a", "kernel:b", "kernel:c", "kernel:a"});
  return request;
}

TEST_CASE("remote: a cold node loads what another one has compiled, in two calls") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  const Answer built = writer->prepare(some_request());
  REQUIRE(built.status.ok());
  CHECK(built.result.compiled_kernels() == 3);
  fleet.wait_until_sent(*writer, 4);  // three kernels and the plan
  const auto reader = fleet.node(false);
  const std::size_t before = fleet.server->calls().size();
  const Answer loaded = reader->prepare(some_request());
  REQUIRE(loaded.status.ok());
  CHECK(loaded.result.plan_hit());
  CHECK(loaded.result.compiled_kernels() == 0);
  CHECK(loaded.result.plan() == built.result.plan());
  CHECK(fleet.calls_since(before) == Calls{"GetActionResult", "BatchReadBlobs"});
  CHECK(reader->stats().kernels_compiled() == 0);
  CHECK(reader->stats().remote().hits() == 1);
  // It is in this node's own cache now, also after a restart.
  reader->stop();
  reader->start();
  fleet.server->clear();
  CHECK(reader->prepare(some_request()).result.plan_hit());
  CHECK(fleet.server->count("GetActionResult") == 0);
}

TEST_CASE("remote: kernels of another plan are found one by one") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  const std::uint64_t sent = fleet.server->count("UpdateActionResult");
  const auto reader = fleet.node(false);
  const Answer other = reader->prepare(test_request({"kernel:b", "kernel:new", "kernel:c"}));
  REQUIRE(other.status.ok());
  CHECK(other.result.compiled_kernels() == 1);
  CHECK(other.result.cache_hits() == 2);
  CHECK(reader->stats().remote().hits() == 2);
  CHECK(fleet.count_results() == 4);
  CHECK(fleet.server->count("UpdateActionResult") == sent);  // a reader sends nothing, no lease either
}

TEST_CASE("remote: of two cold nodes that want the same kernels each compiles some, and takes the other's") {
  Fleet fleet;
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back("kernel:slow" + std::to_string(i));
  const auto first = fleet.node(true), second = fleet.node(true);
  Answer answers[2];
  std::thread other([&] { answers[1] = second->prepare(test_request(names)); });
  answers[0] = first->prepare(test_request(names));
  other.join();
  REQUIRE((answers[0].status.ok() && answers[1].status.ok()));
  const std::uint64_t compiled = first->stats().kernels_compiled() + second->stats().kernels_compiled();
  CHECK(compiled >= 12);
  CHECK(compiled < 24);  // without leases and random order it would be these
  CHECK(answers[0].result.plan() == answers[1].result.plan());
}

TEST_CASE("remote: a node does not load what a key signed that it does not trust") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  const auto reader =
      fleet.node(false, [](Config& config) { config.remote.trusted.keys = {Ed25519Secret::made().public_key()}; });
  const Answer answer = reader->prepare(some_request());
  REQUIRE(answer.status.ok());
  CHECK(answer.result.compiled_kernels() == 3);
  CHECK(reader->stats().remote().unsigned_results() == 4);
  CHECK(reader->stats().remote().hits() == 0);
}

TEST_CASE("remote: the result of a node with another compiler is not found") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  const std::string worker = fleet.folder / "worker";
  std::filesystem::copy_file(program("hearth-fake-worker"), worker);
  std::ofstream(worker, std::ios::app) << "of another distribution";
  const auto other = fleet.node(false, [&](Config& config) { config.worker = worker; });
  CHECK(other->prepare(some_request()).result.compiled_kernels() == 3);
  CHECK(other->stats().remote().hits() == 0);
  const auto salted = fleet.node(false, [](Config& config) { config.remote.salt = "another fleet"; });
  CHECK(salted->prepare(some_request()).result.compiled_kernels() == 3);
  CHECK(salted->stats().remote().hits() == 0);
}

TEST_CASE("remote: of a graph with constant data nothing leaves the node, not even a look-up") {
  Fleet fleet;
  v1::PrepareRequest request = some_request();
  v1::Node& constant = *request.mutable_graph()->add_nodes();
  constant.set_op(v1::CONSTANT);
  constant.set_dtype(v1::F32);
  constant.set_data(std::string(8, 'c'));
  const auto writer = fleet.node(true);
  std::size_t before = fleet.server->calls().size();
  REQUIRE(writer->prepare(request).status.ok());
  writer->stop();
  CHECK(fleet.calls_since(before).empty());
  // Unless that is asked for.
  const auto open = fleet.node(true, [](Config& config) { config.remote.sends_private = true; });
  REQUIRE(open->prepare(request).status.ok());
  fleet.wait_until_sent(*open, 4);
  const auto reader = fleet.node(false, [](Config& config) { config.remote.sends_private = true; });
  CHECK(reader->prepare(request).result.plan_hit());
}

TEST_CASE("remote: after a look-up that is late nothing else is asked for or sent") {
  Fleet fleet;
  const auto node = fleet.node(true);
  const std::size_t before = fleet.server->calls().size();
  fleet.server->hold();
  const Answer answer = node->prepare(some_request());
  REQUIRE(answer.status.ok());
  CHECK(answer.result.compiled_kernels() == 3);
  CHECK(node->stats().remote().late() == 1);
  fleet.server->release();
  node->stop();
  CHECK(fleet.calls_since(before) == Calls{"GetActionResult"});
}

TEST_CASE("remote: an answer that comes while this node compiles is taken, and the compile ends") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  const Answer built = writer->prepare(test_request({"kernel:a"}));
  REQUIRE(built.status.ok());
  fleet.wait_until_sent(*writer, 2);
  // The same result under the key of a graph whose lowering never ends.
  v1::PrepareRequest endless = test_request({"kernel:a", "lower:hang"});
  endless.set_want_progress(true);
  fleet.state_as_plan_of(endless);
  const auto reader = fleet.node(false);
  fleet.server->hold();
  grpc::ClientContext context;
  const Answer loaded = DaemonFixture::prepare(endless, reader->compiler(), context, [&] { fleet.server->release(); });
  REQUIRE(loaded.status.ok());
  CHECK(loaded.progress.size() == 1);  // it was being lowered
  CHECK(loaded.result.plan_hit());
  CHECK(loaded.result.plan() == built.result.plan());
  CHECK(test::eventually([&] { return reader->stats().queued_jobs() == 0; }));
}

TEST_CASE("remote: a server that is gone, refuses or knows nothing fails no Prepare") {
  Fleet fleet;
  const auto node = fleet.node(true);
  SECTION("gone") { fleet.server.reset(); }
  SECTION("refuses") {
    fleet.server->on_call = [](const grpc::ServerContext&) {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not you");
    };
  }
  SECTION("knows nothing") {}
  const Answer answer = node->prepare(some_request());
  REQUIRE(answer.status.ok());
  CHECK(answer.result.compiled_kernels() == 3);
  const Answer another = node->prepare(test_request({"kernel:x"}));
  CHECK(another.result.compiled_kernels() == 1);
}

TEST_CASE("remote: a server that stalls at any call fails no Prepare, and keeps no daemon from leaving") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  const std::string call =
      GENERATE("GetCapabilities", "GetActionResult", "BatchReadBlobs", "BatchUpdateBlobs", "UpdateActionResult");
  CAPTURE(call);
  fleet.server->hold(call);
  DaemonFixture node([&](Config& config) { fleet.join(config, /*writes=*/true); });
  // One that the server has, and one that it has not.
  const Answer known = node.prepare(some_request());
  REQUIRE(known.status.ok());
  const bool is_loaded = call != "GetActionResult" && call != "BatchReadBlobs";
  CHECK(known.result.compiled_kernels() == (is_loaded ? 0 : 3));
  const Answer unknown = node.prepare(test_request({"kernel:x", "kernel:y"}));
  REQUIRE(unknown.status.ok());
  CHECK(unknown.result.compiled_kernels() == 2);
  node.stop();
}

TEST_CASE("remote: a result whose files are gone is made again, and sent again") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  fleet.server->remove_blobs();
  const auto second = fleet.node(true);
  CHECK(second->prepare(some_request()).result.compiled_kernels() == 3);
  CHECK(second->stats().remote().incomplete() == 4);
  fleet.wait_until_sent(*second, 4);
  const auto reader = fleet.node(false);
  CHECK(reader->prepare(some_request()).result.plan_hit());
}

TEST_CASE("remote: a sealed node loads from it, and says what it has answered") {
  Fleet fleet;
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*writer, 4);
  const auto sealed = fleet.node(false, [](Config& config) { config.sealed = true; });
  const Answer loaded = sealed->prepare(some_request());
  REQUIRE(loaded.status.ok());
  CHECK(loaded.result.plan_hit());
  const auto words = [&](const v1::PrepareRequest& request) {
    const Answer answer = sealed->prepare(request);
    CHECK(answer.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    return answer.status.error_message();
  };
  CHECK(words(test_request({"kernel:new"})).find("the remote cache was asked and does not have it") !=
        std::string::npos);
  // A miss of a moment ago is not asked for again.
  const std::uint64_t asked = fleet.server->count("GetActionResult");
  (void)words(test_request({"kernel:new"}));
  CHECK(fleet.server->count("GetActionResult") == asked);
  fleet.server->on_call = [](const grpc::ServerContext&) {
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who are you?");
  };
  CHECK(words(test_request({"kernel:newer"})).find("who are you?") != std::string::npos);
  CHECK(words(test_request({"kernel:newest"})).find("is not asked for now") != std::string::npos);
}

TEST_CASE("remote: a thousand kernels that are there already are found without a thousand frames") {
  Fleet fleet;
  const auto node = fleet.node(false);
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("kernel:" + std::to_string(i));
  REQUIRE(node->prepare(test_request(names)).status.ok());
  names.push_back("kernel:last");
  const Answer answer = node->prepare(test_request(names));
  REQUIRE(answer.status.ok());
  CHECK(answer.result.compiled_kernels() == 1);
}

TEST_CASE("remote: a blob that another node has compiled is loaded where every file of it is the same") {
  Fleet fleet;
  BlobFixture writer([&](Config& config) { fleet.join(config, /*writes=*/true); });
  const BlobReply built = writer.compile("x");
  REQUIRE(built.status.ok());
  fleet.wait_until_sent(writer.daemon(), 1);
  BlobFixture reader([&](Config& config) { fleet.join(config, /*writes=*/false); });
  REQUIRE(test::eventually([&] { return reader.daemon().stats().workers_checked(); }));
  SECTION("the same files, in another folder") {
    const BlobReply loaded = reader.compile("x");
    REQUIRE(loaded.status.ok());
    CHECK(loaded.result.hit());
    CHECK(loaded.text() == built.text());
    CHECK(loaded.result.key() == built.result.key());
    CHECK(reader.daemon().stats().blobs_compiled() == 0);
    CHECK(reader.daemon().stats().remote().hits() == 1);
  }
  SECTION("another header") {
    reader.write("root/second/a.h", "A2 ");
    const BlobReply own = reader.compile("x");
    REQUIRE(own.status.ok());
    CHECK_FALSE(own.result.hit());
    CHECK(own.text() == "x:include a.h\ninclude deep/b.hA2 B1 ");
  }
}

TEST_CASE("remote: metrics count look-ups by their outcome") {
  Fleet fleet;
  const auto node = fleet.node(true);
  REQUIRE(node->prepare(some_request()).status.ok());
  fleet.wait_until_sent(*node, 4);
  const v1::RemoteStats remote = node->stats().remote();
  CHECK(remote.addresses(0) == "unix:" + fleet.socket);
  CHECK((remote.is_asked() && remote.is_writer() && remote.problem().empty()));
  CHECK(remote.misses() == 4);
  CHECK_FALSE(DaemonFixture().stats().has_remote());
}

}  // namespace
}  // namespace hearth::daemon
