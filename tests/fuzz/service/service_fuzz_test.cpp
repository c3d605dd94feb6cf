// The service against peers that lie: a daemon against mutated bytes of clients and mutated replies of workers, a
// client against mutated bytes and mutated messages of a daemon. Half of the mutants are from fixed seeds, half from
// fresh ones.
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <mutex>

#include "client/connection/rpc_connection.h"
#include "client/connection/rpc_methods.h"
#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/fuzz/bytes/mutate.h"
#include "tests/fuzz/service/byte_pipe.h"
#include "tests/support/fresh_seed.h"
#include "tests/unit/daemon/daemon_fixture.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

using client::RpcConnection;
using daemon::DaemonFixture;
using namespace std::chrono_literals;

RpcConnection::Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// gRPC and protobuf say once a mutant what is wrong with it.
const bool is_quiet = [] {
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
  return true;
}();

// Calls `check` with `count` seeds, half of them the fixed ones from 1 on.
void for_seeds(std::uint64_t count, const std::function<void(std::uint64_t seed)>& check) {
  const std::uint64_t fresh = test::fresh_seed();
  const auto checked = [&](std::uint64_t seed) {
    INFO("HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=" << seed);
    check(seed);
  };
  for (std::uint64_t seed = 1; seed <= count / 2; ++seed) checked(seed);
  for (std::uint64_t seed = fresh; seed < fresh + test::fresh_count(count / 2); ++seed) checked(seed);
}

// One call by the client's own means; its status.
template <typename Method>
absl::Status call(const std::string& socket, const Method& method, const typename Method::Request& request) {
  auto rpc = RpcConnection::connect(socket, in(10s));
  if (!rpc.ok()) return rpc.status();
  (*rpc)->begin(method.path, in(60s));
  (*rpc)->send(request.SerializeAsString(), /*last=*/true);
  for (std::string message; (*rpc)->next(&message) != RpcConnection::Event::kEnded;) {
    typename Method::Response response;
    response.ParseFromString(message);
  }
  return (*rpc)->status();
}

// What a client and the daemon say in a Prepare of two kernels and in a Stats.
std::vector<Conversation> conversations(DaemonFixture& fixture) {
  const std::string folder = fixture.folder().path();
  std::vector<Conversation> spoken;
  spoken.push_back(record(fixture.config().socket, folder, [](const std::string& socket) {
    v1::PrepareRequest request = daemon::test_request({"kernel:a", "kernel:b"});
    request.set_want_progress(true);
    CHECK(call(socket, client::rpc::kPrepare, request).ok());
  }));
  spoken.push_back(record(fixture.config().socket, folder,
                          [](const std::string& socket) { CHECK(call(socket, client::rpc::kStats, {}).ok()); }));
  for (const Conversation& one : spoken) {
    REQUIRE(one.from_client.size() > 40);
    REQUIRE(one.from_server.size() > 40);
  }
  return spoken;
}

TEST_CASE("a daemon outlives clients whose bytes are changed anywhere") {
  DaemonFixture fixture;
  const std::vector<Conversation> spoken = conversations(fixture);
  int unanswered = 0;
  for_seeds(400, [&](std::uint64_t seed) {
    Random random(seed);
    // gRPC may wait for the rest of what it thinks was promised: it hangs up when we do.
    unanswered += speak(fixture.config().socket, mutated_bytes(random.pick(spoken).from_client, random), 2000) ? 0 : 1;
    if (seed % 50 == 0) CHECK(fixture.prepare(daemon::test_request({"kernel:a"})).status.ok());
  });
  CHECK(unanswered == 0);
  CHECK(fixture.prepare(daemon::test_request({"kernel:new"})).status.ok());
  const v1::StatsResponse stats = fixture.stats();
  CHECK(stats.sessions() == 0);
  CHECK(stats.worker_crashes() == 0);
}

TEST_CASE("a client ends every call with a status, whatever bytes a daemon sends") {
  DaemonFixture fixture;
  const std::vector<Conversation> spoken = conversations(fixture);
  const std::string socket = fixture.folder() / "hostile.sock";
  int good = 0;
  for_seeds(1500, [&](std::uint64_t seed) {
    Random random(seed);
    const bool prepares = random.one_in(2);
    const ReplayServer hostile(socket, mutated_bytes(spoken[prepares ? 0 : 1].from_server, random));
    const absl::Status status =
        prepares ? call(socket, client::rpc::kPrepare, daemon::test_request({"kernel:a", "kernel:b"}))
                 : call(socket, client::rpc::kStats, v1::StatsRequest());
    CHECK((status.ok() || !status.message().empty()));
    // The peer hung up: nothing is left to wait for. A mutant may say this code, but not in these words.
    CHECK(status != absl::DeadlineExceededError("Deadline Exceeded"));
    good += status.ok() ? 1 : 0;
  });
  CHECK(good > 50);  // changes of what does not matter
}

// A sound plan whose kernels do nothing. A client runs the machine code that its daemon gives, with the slots that the
// plan names: kernels that do nothing bear any slots and any grid, so that what crashes is the client.
testing::SaxpyPlan idle_plan() {
  testing::SaxpyPlan made = testing::saxpy_plan(100, false);
  for (int i = 0; i < made.plan.kernels_size(); ++i) {
    v1::PlanKernel& kernel = *made.plan.mutable_kernels(i);
    made.artifacts[static_cast<std::size_t>(i)] = testing::compile_kernel(
        "void " + kernel.symbol() +
        "(void* const* b, const int64_t* v, int64_t i0, int64_t i1) { (void)b; (void)v; (void)i0; (void)i1; }\n");
    kernel.set_artifact(made.artifacts[static_cast<std::size_t>(i)].digest);
  }
  return made;
}

// Answers Prepare with mutants of a sound answer, FetchArtifact with mutants of the artifact.
class LyingService final : public v1::CompilerService::Service {
 public:
  explicit LyingService(testing::SaxpyPlan plan) : plan_(std::move(plan)) {}
  void set_seed(std::uint64_t seed) {
    std::lock_guard lock(mutex_);
    random_ = Random(seed);
  }

  grpc::Status Prepare(grpc::ServerContext*, const v1::PrepareRequest*,
                       grpc::ServerWriter<v1::PrepareEvent>* writer) override {
    std::lock_guard lock(mutex_);
    v1::Plan plan = plan_.plan;
    if (random_.one_in(2)) mutate_message(plan, random_);
    v1::PrepareEvent event;
    v1::PrepareResult* result = event.mutable_result();
    result->set_plan_key(std::string(32, 'k'));
    result->set_plan(plan.SerializePartialAsString());
    result->set_lease_id(7);
    for (const runtime::ArtifactSource& artifact : plan_.artifacts) {
      v1::ArtifactRef* ref = result->add_artifacts();
      ref->set_digest(artifact.digest);
      ref->set_size(artifact.bytes.size());
      if (random_.one_in(2)) ref->set_path(artifact.path);
    }
    if (random_.one_in(2)) mutate_message(event, random_);
    writer->Write(event);
    return grpc::Status::OK;
  }
  grpc::Status FetchArtifact(grpc::ServerContext*, const v1::FetchArtifactRequest*,
                             grpc::ServerWriter<v1::FetchArtifactChunk>* writer) override {
    std::lock_guard lock(mutex_);
    v1::FetchArtifactChunk chunk;
    chunk.set_data(plan_.artifacts[0].bytes);
    if (random_.one_in(2)) mutate_message(chunk, random_);
    writer->Write(chunk);
    return grpc::Status::OK;
  }

 private:
  const testing::SaxpyPlan plan_;
  std::mutex mutex_;
  Random random_{0};
};

TEST_CASE("a client takes no plan and no artifact that is not what it must be") {
  const daemon::TestFolder folder;
  LyingService service(idle_plan());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + (folder / "d.sock"), grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  REQUIRE(server);
  const std::vector<float> scale = {3};
  const client::Tensor a = client::parameter("a", {1}, DType::kF32, client::bytes_of(scale));
  const client::Tensor out = a * client::input("x", {100}, DType::kF32) + client::input("y", {100}, DType::kF32);
  int accepted = 0, refused = 0;
  for_seeds(500, [&](std::uint64_t seed) {
    service.set_seed(seed);
    client::PrepareConfig config = {.socket = folder / "d.sock", .threads = 1, .auto_start = false};
    config.deadline = 20s;
    const auto plan = client::prepare({{"out", out}}, config);
    ++(plan.ok() ? accepted : refused);
    if (!plan.ok()) {
      CHECK(!plan.status().message().empty());
      CHECK_FALSE(absl::IsDeadlineExceeded(plan.status()));
    }
  });
  std::cout << "lying daemon: " << accepted << " plans taken, " << refused << " refused" << std::endl;
  if (accepted + refused >= 250) {
    CHECK(accepted > 10);
    CHECK(refused > 50);
  }
  server->Shutdown(std::chrono::system_clock::now());
}

TEST_CASE("a daemon outlives workers whose replies are changed anywhere") {
  DaemonFixture fixture([](daemon::Config& config) { config.worker = daemon::program("hearth-hostile-worker"); });
  int good = 0, refused = 0;
  for_seeds(200, [&](std::uint64_t seed) {
    const daemon::Answer answer =
        fixture.prepare(daemon::test_request({"kernel:m" + std::to_string(seed)}), std::chrono::seconds(30));
    ++(answer.status.ok() ? good : refused);
    CHECK(answer.status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
    if (!answer.status.ok()) CHECK(!answer.status.error_message().empty());
  });
  std::cout << "hostile workers: " << good << " plans, " << refused << " refused" << std::endl;
  if (good + refused >= 100) {
    CHECK(good > 5);
    CHECK(refused > 5);
  }
  fixture.check_identity(static_cast<std::uint64_t>(good + refused));
}

}  // namespace
}  // namespace hearth::fuzz
