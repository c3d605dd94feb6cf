// What one client's jobs cost another's: turns, workers that give way, requests that are refused.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/daemon/worker_pool_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

TEST_CASE("pool: three clients whose jobs last do not keep a fourth one's short job waiting") {
  for (const unsigned workers : {2u, 4u}) {
    PoolFixture fixture([workers](WorkerPoolOptions& options) {
      options.num_workers = workers;
      options.num_spare = 1;
      options.command.wall_limit = 1000h;
      options.command.limits.hang_limit = 1000h;
    });
    std::vector<std::unique_ptr<PoolWaiter>> hung;
    std::vector<std::uint64_t> ids;
    const auto hang = [&](uid_t uid) {
      hung.push_back(std::make_unique<PoolWaiter>());
      CompileJob job = fixture.kernel_job("hang" + std::to_string(hung.size()), *hung.back());
      job.client = {uid, 0};
      ids.push_back(*fixture.pool->submit(std::move(job)));
    };
    for (unsigned i = 0; i <= workers; ++i) hang(61001 + i % 3);
    // All workers are taken, the spare one too where its client has no other running.
    CHECK(fixture.clock.advance_until(10ms, [&] { return fixture.pool->num_queued() <= (workers > 2 ? 1 : 0); }));
    for (int round = 0; round < 3; ++round) {
      PoolWaiter waiting;
      CompileJob job = fixture.kernel_job("k" + std::to_string(round), waiting);
      job.client = {61009, 0};
      REQUIRE(fixture.pool->submit(std::move(job)).ok());
      REQUIRE(fixture.clock.advance_until(10ms, [&] { return waiting.is_done(); }));
      CHECK(waiting.wait().ok());
    }
    for (const auto& each : hung) CHECK_FALSE(each->is_done());  // what was given back is not lost
    for (const std::uint64_t id : ids) fixture.pool->cancel(id);
    for (const auto& each : hung) CHECK(absl::IsCancelled(each->wait().status()));
  }
}

TEST_CASE("pool: one user's request that kills workers is refused for that user alone") {
  PoolFixture fixture;
  const auto crash = [&](uid_t uid) {
    PoolWaiter waiting;
    CompileJob job = fixture.kernel_job("crash", waiting);
    job.client = {uid, 0};
    const absl::StatusOr<std::uint64_t> id = fixture.pool->submit(std::move(job));
    return id.ok() ? waiting.wait().status() : id.status();
  };
  absl::Status last;
  for (int death = 0; death < 3; ++death) {
    last = crash(61001);
    CHECK(absl::IsInternal(last));
  }
  const absl::Status refused = crash(61001);
  CHECK(absl::IsFailedPrecondition(refused));
  for (const absl::Status& told : {last, refused}) {
    CHECK(std::string(told.message()).find("killed 3 compiler workers") != std::string::npos);
    CHECK(std::string(told.message()).find(fixture.folder.path()) == std::string::npos);  // a path of the operator's
  }
  CHECK(absl::IsInternal(crash(61002)));
}

TEST_CASE("pool: requests that differ in what the worker gets are not refused for one another") {
  PoolFixture fixture;
  const auto compile = [&](bool dump) {
    PoolWaiter waiting;
    CompileJob job = fixture.kernel_job("crash", waiting);
    job.request.mutable_options()->set_dump(dump);
    const absl::StatusOr<std::uint64_t> id = fixture.pool->submit(std::move(job));
    return id.ok() ? waiting.wait().status() : id.status();
  };
  for (int death = 0; death < 3; ++death) CHECK_FALSE(compile(true).ok());
  CHECK(absl::IsFailedPrecondition(compile(true)));
  CHECK(absl::IsInternal(compile(false)));
}

}  // namespace
}  // namespace hearth::daemon
