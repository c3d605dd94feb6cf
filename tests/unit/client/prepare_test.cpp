#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/support/eventually.h"
#include "tests/unit/client/fake_service.h"

using namespace hearth;
using namespace hearth::client;
using hearth::testing::FakeService;
using hearth::testing::saxpy_plan;
using hearth::testing::scratch_folder;

namespace {

const std::vector<float> kPreparedScale = {3};

NamedTensors saxpy() {
  const Tensor a = parameter("a", {1}, DType::kF32, bytes_of(kPreparedScale));
  return {{"out", a * input("x", {100}, DType::kF32) + input("y", {100}, DType::kF32)}};
}

std::string fresh_socket() {
  static int count = 0;
  const std::string folder = scratch_folder() + "/s" + std::to_string(count++);
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  return folder + "/d.sock";
}

PrepareConfig config_for(const std::string& socket) {
  PrepareConfig config;
  config.socket = socket;
  config.threads = 1;
  config.deadline = std::chrono::seconds(20);
  config.auto_start = false;
  return config;
}

bool prepared_computes(const PreparedPlan& plan) {
  absl::StatusOr<Instance> instance = plan.instantiate();
  if (!instance.ok()) return false;
  const std::vector<float> x(100, 2), y(100, 1);
  if (!instance->bind_input("x", x.data(), 400).ok() || !instance->bind_input("y", y.data(), 400).ok()) return false;
  if (!instance->execute().ok()) return false;
  const auto* out = static_cast<const float*>(instance->output("out")->data);
  return std::all_of(out, out + 100, [](float value) { return value == 7; });
}

using test::eventually;

}  // namespace

TEST_CASE("prepare loads by path, reports progress and statistics, and takes a lease") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  PrepareConfig config = config_for(socket);
  std::vector<PrepareProgress> seen;
  config.progress = [&](const PrepareProgress& progress) { seen.push_back(progress); };
  {
    absl::StatusOr<PreparedPlan> plan = prepare(saxpy(), config);
    INFO(plan.status().ToString());
    REQUIRE(plan.ok());
    CHECK(plan->stats().kernels == 3);
    CHECK(plan->stats().compiled_kernels == 3);
    CHECK(plan->stats().plan_key == std::string(32, 'k'));
    CHECK(plan->stats().prepare_ms >= plan->stats().rpc_ms);
    CHECK(plan->inputs().size() == 2);
    CHECK(prepared_computes(*plan));
    CHECK(service.behaviour().fetches == 0);
    CHECK(service.behaviour().sessions == 1);
    CHECK(service.behaviour().last_session == 41);
    CHECK(service.behaviour().released == 0);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].state == PrepareProgress::State::kCompiling);
    CHECK(seen[0].kernels_total == 3);
    CHECK(seen[1].state == PrepareProgress::State::kLoading);
    REQUIRE(prepare(saxpy(), config).ok());
    CHECK(service.behaviour().sessions == 1);  // one a process
  }
  CHECK(eventually([&] { return service.behaviour().released == 2; }));
}

TEST_CASE("artifacts come as bytes when there is no path or the path fails") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  service.behaviour().send_paths = false;
  absl::StatusOr<PreparedPlan> plan = prepare(saxpy(), config_for(socket));
  REQUIRE(plan.ok());
  CHECK(service.behaviour().fetches == 3);
  CHECK(prepared_computes(*plan));
  service.behaviour().send_paths = true;
  service.behaviour().damage_paths = true;
  plan = absl::UnknownError("released: the artifacts must be loaded anew");
  plan = prepare(saxpy(), config_for(socket));
  REQUIRE(plan.ok());
  CHECK(service.behaviour().fetches == 6);
  CHECK(service.behaviour().prepares == 2);
}

TEST_CASE("lost artifacts make the client ask again, once") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  service.behaviour().damage_paths = true;
  service.behaviour().lose_bytes = true;
  absl::StatusOr<PreparedPlan> plan = prepare(saxpy(), config_for(socket));
  CHECK(absl::IsNotFound(plan.status()));
  CHECK_THAT(std::string(plan.status().message()), Catch::Contains("kernel 'scale'"));
  CHECK(service.behaviour().prepares == 2);
}

TEST_CASE("a daemon that goes away mid-call is asked again") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  service.behaviour().unavailable = 1;
  CHECK(prepare(saxpy(), config_for(socket)).ok());
  CHECK(service.behaviour().prepares == 2);
  service.behaviour().unavailable = 1000;
  // No deadline that may end while a request is under way: it is asked until a daemon should have been replaced.
  CHECK(absl::IsUnavailable(prepare(saxpy(), config_for(socket)).status()));
  CHECK(service.behaviour().prepares > 3);  // again and again, with growing pauses
  CHECK(service.behaviour().prepares < 30);
}

TEST_CASE("a prepare that nobody waits for any more ends, wherever it is, and the next one works") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  int asked = 0;
  PrepareConfig config = config_for(socket);
  config.cancelled = [&] { return ++asked >= 3; };
  // While it waits for a daemon that was there a moment ago, and
  service.behaviour().unavailable = 1000;
  const absl::Status between = prepare(saxpy(), config).status();
  CHECK(absl::IsCancelled(between));
  CHECK(asked == 3);
  // while it waits for the answer, which comes much later.
  service.behaviour().unavailable = 0;
  service.behaviour().out_of_time = true;
  asked = 0;
  config.deadline = std::chrono::seconds(10);
  const absl::Status cancelled = prepare(saxpy(), config).status();
  CHECK(absl::IsCancelled(cancelled));
  CHECK_THAT(std::string(cancelled.message()), Catch::Contains("the call was cancelled"));
  CHECK(asked == 3);  // and not again
  service.behaviour().out_of_time = false;
  CHECK(prepare(saxpy(), config_for(socket)).ok());
}

TEST_CASE("a request that a daemon cancels as it ends is asked again, wherever it was") {
  using Point = FakeService::Behaviour::Point;
  for (const Point point : {Point::kBeforeEvents, Point::kAfterProgress, Point::kAfterResult}) {
    const std::string socket = fresh_socket();
    FakeService service(socket, saxpy_plan(100, false));
    service.behaviour().cancelled_at = point;
    service.behaviour().cancelled = 2;
    const absl::StatusOr<PreparedPlan> plan = prepare(saxpy(), config_for(socket));
    CAPTURE(static_cast<int>(point), std::string(plan.status().message()));
    CHECK(plan.ok());
    CHECK(service.behaviour().prepares == 3);
  }
}

TEST_CASE("a daemon whose clock ends the call a little early is at work all the same") {
  const std::string socket = fresh_socket();
  FakeService service(socket, saxpy_plan(100, false));
  service.behaviour().out_of_time = true;
  PrepareConfig config = config_for(socket);
  // Nothing but the call itself is left to be done within its time.
  connect_early(config);
  REQUIRE(eventually([&] { return service.behaviour().sessions == 1; }));
  config.deadline = std::chrono::seconds(3);
  const absl::Status late = prepare(saxpy(), config).status();
  CHECK(absl::IsDeadlineExceeded(late));
  CHECK_THAT(std::string(late.message()), Catch::Contains("the plan was not ready within 3 s; the kernels that were"));
}

TEST_CASE("a plan replays without its daemon, and a new daemon is found") {
  const std::string socket = fresh_socket();
  auto service = std::make_unique<FakeService>(socket, saxpy_plan(100, false));
  absl::StatusOr<PreparedPlan> plan = prepare(saxpy(), config_for(socket));
  REQUIRE(plan.ok());
  service.reset();
  CHECK(prepared_computes(*plan));
  CHECK(absl::IsUnavailable(prepare(saxpy(), config_for(socket)).status()));
  FakeService again(socket, saxpy_plan(100, false));
  CHECK(prepare(saxpy(), config_for(socket)).ok());
  CHECK(again.behaviour().sessions == 1);
}

TEST_CASE("an early connection has its session before the first prepare, and starts no daemon") {
  const std::string socket = fresh_socket();
  connect_early(config_for(socket));  // nobody there: nothing happens
  CHECK(!std::filesystem::exists(socket));
  FakeService service(socket, saxpy_plan(100, false));
  connect_early(config_for(socket));
  CHECK(eventually([&] { return service.behaviour().sessions == 1; }));
  CHECK(service.behaviour().prepares == 0);
  CHECK(prepare(saxpy(), config_for(socket)).ok());
  CHECK(service.behaviour().sessions == 1);
}

TEST_CASE("wrong configurations are refused before any call") {
  PrepareConfig config = config_for(fresh_socket());
  config.device = "abacus";
  CHECK_THAT(std::string(prepare(saxpy(), config).status().message()), Catch::Contains("device 'abacus'"));
  config.device = "cpu";
  config.threads = -1;
  CHECK_THAT(std::string(prepare(saxpy(), config).status().message()), Catch::Contains("threads is -1"));
}
