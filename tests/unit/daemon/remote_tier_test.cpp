// Nodes that share a cache: what one has compiled and signed, another loads; what is private stays; and a server that is
// slow, gone or lying costs nothing but its results.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "daemon/remote/blob_reference.h"
#include "daemon/remote/entry_address.h"
#include "daemon/remote/writer_key.h"
#include "kernels_cache/action_key.h"
#include "tests/support/remote_cache_server.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

using Calls = std::vector<std::string>;

struct Fleet {
  Fleet() {
    key_file = folder / "writer.key";
    REQUIRE(runtime::write_file(key_file, {writer_key_text(secret)}).ok());
    std::filesystem::permissions(key_file, std::filesystem::perms(0600));
  }

  // A node with a cold cache of its own. Its compiler is known, and the server's abilities, when this returns.
  std::unique_ptr<DaemonFixture> node(bool writes, const std::function<void(Config&)>& change = nullptr) {
    const std::uint64_t before = server ? server->count("GetCapabilities") : 0;
    auto fixture = std::make_unique<DaemonFixture>([&](Config& config) {
      config.remote.addresses = {*parse_remote_address("unix:" + socket)};
      config.remote.trusted.keys = {secret.public_key()};
      config.remote.call_limit = std::chrono::minutes(5);  // only what is held is late
      if (writes) config.remote.writer_key_file = key_file;
      if (change) change(config);
    });
    if (server) REQUIRE(test::eventually([&] { return server->count("GetCapabilities") == before + 1; }));
    REQUIRE(test::eventually([&] { return fixture->stats().workers_checked(); }));
    return fixture;
  }
  void wait_until_sent(DaemonFixture& node, std::uint64_t results) {
    REQUIRE(test::eventually([&] { return node.stats().remote().sent() == results; }));
  }
  // Calls since `before`, without those that ask what the server can do.
  Calls calls_since(std::size_t before) {
    const Calls all = server->calls();
    Calls calls(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    std::erase(calls, "GetCapabilities");
    return calls;
  }

  // States the one plan that the server has as that of another request.
  void state_as_plan_of(const v1::PrepareRequest& request) {
    const auto blobs = server->blobs();
    for (const auto& [action, result] : server->results()) {
      const auto file = std::ranges::find(result.output_files(), "hearth.sig", &test::api::OutputFile::path);
      auto statement = verified_statement(blobs.at(file->digest().hash()), {{secret.public_key()}, {}, 0});
      REQUIRE(statement.ok());
      if (statement->kind != "plan") continue;
      const cache::KeyMaterial material = cache::plan_key_material(request.graph(), request.target(), request.options(),
                                                                   std::string(statement->build_id));
      statement->key = cache::key(material);
      const std::string signature = signed_statement(*statement, secret);
      server->put_blob(signature);
      test::api::ActionResult stated = result;
      for (auto& output : *stated.mutable_output_files()) {
        if (output.path() == "hearth.sig") BlobReference::of(signature).write_to(output.mutable_digest());
      }
      const EntryAddress address = address_of({statement->domain, statement->key, statement->kind, statement->salt,
                                               statement->flavour, statement->build_id});
      return server->set_result(to_hex(sha256(address.action)), stated);
    }
    FAIL("no plan was sent");
  }

  TestFolder folder;
  const std::string socket = folder / "r.sock";
  const Ed25519Secret secret = Ed25519Secret::made();
  std::string key_file;
  std::optional<test::RemoteCacheServer> server{std::in_place, "unix:" + socket};
};

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
  const auto reader = fleet.node(false);
  const Answer other = reader->prepare(test_request({"kernel:b", "kernel:new", "kernel:c"}));
  REQUIRE(other.status.ok());
  CHECK(other.result.compiled_kernels() == 1);
  CHECK(other.result.cache_hits() == 2);
  CHECK(reader->stats().remote().hits() == 2);
  CHECK(fleet.server->count("UpdateActionResult") == 4);  // a reader sends nothing
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
