// A WorkerPool whose workers are puppets (fake_worker.cpp) and whose clock stands still until it is turned.
//
//   PoolFixture fixture;
//   CHECK(fixture.compile("crash").status().code() == absl::StatusCode::kInternal);
#pragma once
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/worker_pool/worker_pool.h"
#include "runtime/build_id.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/daemon/test_folder.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {

using PoolReply = absl::StatusOr<v1::WorkerReply>;

class PoolWaiter {
 public:
  std::function<void(PoolReply)> done() {
    return [this](PoolReply reply) {
      std::lock_guard lock(mutex_);
      reply_ = std::move(reply);
      ++calls_;
      changed_.notify_all();
    };
  }
  PoolReply wait() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, test::give_up(), [&] { return calls_ > 0; }));
    return *reply_;
  }
  bool is_done() {
    std::lock_guard lock(mutex_);
    return calls_ > 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<PoolReply> reply_;
  int calls_ = 0;
};

struct PoolFixture {
  TestFolder folder;
  test::ManualClock clock;  // of limits; it stands still
  Metrics metrics;
  PoisonList poison{folder / "repro", std::chrono::minutes(10)};
  std::unique_ptr<WorkerPool> pool;

  explicit PoolFixture(std::function<void(WorkerPoolOptions&)> change = nullptr) {
    WorkerPoolOptions options;
    options.command.path = program("hearth-fake-worker");
    options.command.temp_folder = folder.path();
    options.command.build_id = std::string(build_id());
    options.command.wall_limit = std::chrono::seconds(10);
    options.num_workers = 2;
    options.clock = &clock;
    if (change) change(options);
    pool = std::make_unique<WorkerPool>(options, &poison, &metrics);
  }

  CompileJob kernel_job(const std::string& symbol, PoolWaiter& waiting) {
    CompileJob job;
    job.request.mutable_compile()->set_symbol(symbol);
    job.request.mutable_compile()->set_ast("ast");
    *job.request.mutable_target() = test_target();
    job.key = sha256(symbol);
    job.what = "kernel '" + symbol + "'";
    job.client = {::geteuid(), 0};
    job.done = waiting.done();
    return job;
  }

  PoolReply compile(const std::string& symbol) {
    PoolWaiter waiting;
    absl::StatusOr<std::uint64_t> id = pool->submit(kernel_job(symbol, waiting));
    if (!id.ok()) return id.status();
    return waiting.wait();
  }
  // The same, with the clock turned on by a second a millisecond once a worker has the job.
  PoolReply compile_turning(const std::string& symbol) {
    PoolWaiter waiting;
    std::atomic<bool> is_started{false};
    CompileJob job = kernel_job(symbol, waiting);
    job.started = [&] { is_started = true; };
    const absl::StatusOr<std::uint64_t> id = pool->submit(std::move(job));
    if (!id.ok()) return id.status();
    REQUIRE(test::eventually([&] { return is_started || waiting.is_done(); }));
    CHECK(clock.advance_until(std::chrono::seconds(1), [&] { return waiting.is_done(); }));
    return waiting.wait();
  }
};

}  // namespace hearth::daemon
