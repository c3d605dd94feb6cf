#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>
#include <thread>

#include "base/sha256.h"
#include "tests/support/eventually.h"
#include "tests/unit/cache/fault_file_system.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST_CASE("prepare: a miss compiles, a hit does not, a restart still hits") {
  DaemonFixture fixture;
  v1::PrepareRequest request = test_request({"kernel:a", "kernel:b", "kernel:a"});
  request.set_want_progress(true);
  const Answer miss = fixture.prepare(request);
  REQUIRE(miss.status.ok());
  CHECK((!miss.result.plan_hit() && !miss.result.joined()));
  CHECK(miss.result.compiled_kernels() == 2);  // "a" twice is one kernel
  REQUIRE(miss.result.artifacts_size() == 2);
  const v1::ArtifactRef& artifact = miss.result.artifacts(0);
  CHECK(content(artifact.path()) == "artifact of (kernel a) for fake-unknown-linux-gnu");
  CHECK(artifact.digest() == to_bytes(sha256(content(artifact.path()))));
  CHECK(artifact.size() == content(artifact.path()).size());
  v1::Plan plan;
  REQUIRE(plan.ParseFromString(miss.result.plan()));
  REQUIRE(plan.kernels_size() == 3);
  CHECK(plan.kernels(0).artifact() == artifact.digest());
  CHECK(plan.kernels(2).artifact() == artifact.digest());
  REQUIRE_FALSE(miss.progress.empty());
  CHECK(miss.progress.back().kernels_done() == 3);
  CHECK(miss.progress.back().kernels_total() == 3);

  const Answer hit = fixture.prepare(request);
  REQUIRE(hit.status.ok());
  CHECK((hit.result.plan_hit() && hit.result.compiled_kernels() == 0 && hit.progress.empty()));
  CHECK(hit.result.plan() == miss.result.plan());
  CHECK(hit.result.plan_key() == miss.result.plan_key());
  CHECK(hit.result.artifacts(0).path() == artifact.path());

  fixture.stop();
  fixture.start();
  CHECK(fixture.prepare(request).result.plan_hit());
  // Another graph that shares a kernel compiles only the rest.
  const Answer shared = fixture.prepare(test_request({"kernel:b", "kernel:c"}));
  CHECK((shared.result.compiled_kernels() == 1 && shared.result.cache_hits() == 1));
  fixture.check_identity(2);
}

TEST_CASE("prepare: hits that wait for a slow disk leave the network threads to others") {
  cache::testing::FaultFileSystem disk;
  DaemonFixture fixture([&](Config& config) { config.file_system = &disk; });
  REQUIRE(fixture.prepare(test_request({"kernel:a"})).status.ok());
  fixture.stop();
  fixture.start();  // nothing is known to be sound: each hit has to read its files
  disk.hold(cache::testing::Call::kRead);
  constexpr int kCallers = 64;
  std::vector<std::thread> callers;
  std::atomic<int> hits{0};
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] { hits += fixture.prepare(test_request({"kernel:a"})).result.plan_hit(); });
  }
  disk.wait_until_one_is_held();
  CHECK(test::eventually([&] { return fixture.stats().requests() == kCallers; }));
  disk.let_go();
  for (std::thread& caller : callers) caller.join();
  CHECK(hits == kCallers);
  fixture.check_identity(kCallers);
}

TEST_CASE("prepare: 100 clients, one cold graph, each kernel compiled once") {
  DaemonFixture fixture;
  const v1::PrepareRequest request = test_request({"kernel:slow1", "kernel:b", "kernel:c", "kernel:d"});
  std::atomic<int> failed{0}, missed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&] {
      auto stub = v1::CompilerService::NewStub(fixture.channel());
      grpc::ClientContext context;
      const Answer answer = DaemonFixture::prepare(request, *stub, context);
      if (!answer.status.ok()) ++failed;
      if (!answer.result.plan_hit() && !answer.result.joined()) ++missed;
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK((failed == 0 && missed == 1));
  const v1::StatsResponse stats = fixture.stats();
  CHECK(stats.kernels_compiled() == 4);
  CHECK(stats.plan_misses() == 1);
  CHECK(stats.plan_joined() + stats.plan_hits() == 99);
  fixture.check_identity(100);
}

TEST_CASE("prepare: plans that share kernels compile them once between them") {
  DaemonFixture fixture;
  std::vector<std::thread> clients;
  std::atomic<int> failed{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      auto stub = v1::CompilerService::NewStub(fixture.channel());
      grpc::ClientContext context;
      const auto request = test_request({"kernel:slow", "kernel:common", "kernel:own" + std::to_string(i % 8)});
      if (!DaemonFixture::prepare(request, *stub, context).status.ok()) ++failed;
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(failed == 0);
  CHECK(fixture.stats().kernels_compiled() == 10);
  fixture.check_identity(16);
}

// Keeps `promise` on the first call.
std::function<void()> told(std::promise<void>& promise) {
  return [&promise, done = false]() mutable {
    if (!done) promise.set_value();
    done = true;
  };
}

TEST_CASE("prepare: the first caller leaves, the second still gets its plan") {
  DaemonFixture fixture;
  v1::PrepareRequest request = test_request({"kernel:slower", "kernel:slower2", "kernel:slower3"});
  request.set_want_progress(true);
  auto stub = v1::CompilerService::NewStub(fixture.channel());
  grpc::ClientContext first_context;
  Answer first, second;
  std::promise<void> first_in, second_in;  // its first progress: it has its place in the flight
  std::thread first_caller([&] { first = DaemonFixture::prepare(request, *stub, first_context, told(first_in)); });
  first_in.get_future().wait();
  grpc::ClientContext second_context;
  std::thread second_caller([&] { second = DaemonFixture::prepare(request, *stub, second_context, told(second_in)); });
  second_in.get_future().wait();
  first_context.TryCancel();
  first_caller.join();
  second_caller.join();
  CHECK(first.status.error_code() == grpc::StatusCode::CANCELLED);
  CHECK(second.status.ok());
  CHECK(second.result.joined());
  CHECK(fixture.stats().kernels_compiled() == 3);
  fixture.check_identity(2);
}

// "hang" would last an hour; how soon its end comes is measured by promised_times_bench.
TEST_CASE("prepare: deadline and cancellation end an unshared compile") {
  DaemonFixture fixture;
  const Answer late = fixture.prepare(test_request({"kernel:hang"}), 500ms);
  CHECK(late.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  // The worker that hung is gone, so both slots take new work.
  const Answer next = fixture.prepare(test_request({"kernel:x", "kernel:y"}));
  CHECK(next.status.ok());
  CHECK(fixture.stats().worker_crashes() == 0);
  fixture.check_identity(2);
}

TEST_CASE("prepare: a worker's death is a typed error, others are served") {
  DaemonFixture fixture;
  const Answer crash = fixture.prepare(test_request({"kernel:fine", "kernel:crash"}));
  CHECK(crash.status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(crash.status.error_message().find("while compiling kernel 'crash'") != std::string::npos);
  const Answer lower = fixture.prepare(test_request({"lower:abort"}));
  CHECK(lower.status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(lower.status.error_message().find("while compiling a graph of 1 nodes") != std::string::npos);
  CHECK(fixture.prepare(test_request({"lower:error"})).status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(fixture.prepare(test_request({"kernel:ok"})).status.ok());
  fixture.prepare(test_request({"kernel:crash"}));
  fixture.prepare(test_request({"kernel:crash"}));
  const Answer refused = fixture.prepare(test_request({"kernel:crash"}));
  CHECK(refused.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(refused.status.error_message().find(fixture.config().cache_dir + "/repro/") != std::string::npos);
  CHECK(fixture.stats().worker_crashes() == 4);
  fixture.check_identity(7);
}

TEST_CASE("prepare: versions, limits and nonsense are refused before any work") {
  DaemonFixture fixture([](Config& config) {
    config.limits.nodes = 5;
    config.limits.graph_bytes = 1 << 20;
  });
  v1::PrepareRequest request = test_request({"kernel:a"});
  request.set_protocol_version(9);
  const Answer version = fixture.prepare(request);
  CHECK(version.status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(version.status.error_message().find("protocol version 9") != std::string::npos);
  CHECK(fixture.prepare(test_request({"a", "b", "c", "d", "e", "f"})).status.error_message() ==
        "graph nodes: 6 exceeds the limit of 5, the daemon\'s setting max_nodes");
  CHECK(fixture.prepare({}).status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  request = test_request({"kernel:a"});
  request.set_session_id(999);
  const Answer unleased = fixture.prepare(request);  // an ended session costs the lease, not the plan
  CHECK((unleased.status.ok() && unleased.result.lease_id() == 0));
  fixture.check_identity(4);
  // Over gRPC's own limit: refused while it is read, so it never becomes a request.
  request.mutable_graph()->mutable_nodes(0)->set_data(std::string(4 << 20, 'x'));
  CHECK(fixture.prepare(request).status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  fixture.check_identity(4);
}

TEST_CASE("prepare: overload is refused with a hint, hits are answered") {
  DaemonFixture fixture([](Config& config) {
    config.workers = 1;
    config.queue_limit = 4;  // of one process: two
  });
  const v1::PrepareRequest known = test_request({"kernel:known"});
  REQUIRE(fixture.prepare(known).status.ok());
  std::atomic<int> refused{0}, served{0}, hinted{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back([&, i] {
      grpc::ClientContext context;
      const Answer answer = DaemonFixture::prepare(test_request({"lower:slow", "kernel:k" + std::to_string(i)}),
                                                   fixture.compiler(), context);
      if (answer.status.ok()) ++served;
      if (answer.status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return;
      ++refused;
      hinted += context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms") == 1;
    });
  }
  for (int i = 0; i < 10; ++i) CHECK(fixture.prepare(known).result.plan_hit());
  for (std::thread& client : clients) client.join();
  CHECK((served >= 2 && refused >= 10 && served + refused == 20));
  CHECK(hinted == refused);
  fixture.check_identity(31);
}

TEST_CASE("prepare: a kernel without artifact on the null device") {
  DaemonFixture fixture;
  v1::PrepareRequest request = test_request({"kernel:a"});
  request.mutable_target()->set_device("null");
  const Answer answer = fixture.prepare(request);
  REQUIRE(answer.status.ok());
  CHECK(answer.result.artifacts_size() == 0);
  CHECK(fixture.prepare(request).result.plan_hit());
}

TEST_CASE("prepare: an artifact that does not load here is never published") {
  DaemonFixture fixture;
  v1::PrepareRequest request = test_request({"kernel:a"});
#if defined(__x86_64__)
  request.mutable_target()->set_triple("x86_64-unknown-linux-gnu");
#else
  request.mutable_target()->set_triple("aarch64-unknown-linux-gnu");
#endif
  const Answer answer = fixture.prepare(request);
  CHECK(answer.status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(answer.status.error_message().find("does not load") != std::string::npos);
  CHECK(fixture.stats().cache_entries() == 0);
}

TEST_CASE("prepare: a damaged artifact is compiled again") {
  DaemonFixture fixture;
  const v1::PrepareRequest request = test_request({"kernel:a"});
  const Answer first = fixture.prepare(request);
  REQUIRE(first.status.ok());
  fixture.stop();
  const std::string path = first.result.artifacts(0).path();
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(3).put('#');
  fixture.start();
  const Answer again = fixture.prepare(request);
  REQUIRE(again.status.ok());
  CHECK(again.result.compiled_kernels() == 1);
  CHECK(content(again.result.artifacts(0).path()) == "artifact of (kernel a) for fake-unknown-linux-gnu");
  CHECK(fixture.stats().quarantined() == 1);
}

// How quick a hit is, tests/bench/startup_bench says.
TEST_CASE("prepare: a hit waits for no worker") {
  DaemonFixture fixture([](Config& config) { config.workers = 1; });
  const v1::PrepareRequest known = test_request({"kernel:known"});
  REQUIRE(fixture.prepare(known).status.ok());
  v1::PrepareRequest hang = test_request({"lower:hang"});
  hang.set_want_progress(true);
  grpc::ClientContext context;
  std::promise<void> in;
  std::thread hanging([&] { DaemonFixture::prepare(hang, fixture.compiler(), context, told(in)); });
  in.get_future().wait();
  CHECK(fixture.prepare(known).result.plan_hit());
  // The only worker is indeed busy; what came before it took the hanging graph was compiled.
  bool busy = false;
  for (int i = 0; i < 50 && !busy; ++i) {
    const Answer other = fixture.prepare(test_request({"kernel:new" + std::to_string(i)}), 300ms);
    busy = other.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  }
  CHECK(busy);
  CHECK(fixture.prepare(known).result.plan_hit());
  context.TryCancel();
  hanging.join();
}

}  // namespace
}  // namespace hearth::daemon
