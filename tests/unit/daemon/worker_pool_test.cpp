#include "daemon/worker_pool/worker_pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <filesystem>

#include "runtime/build_id.h"
#include "tests/support/manual_clock.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/daemon/test_folder.h"
#include "tests/unit/daemon/test_graphs.h"
#include "tests/unit/daemon/worker_pool_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;
using Reply = PoolReply;
using Waiting = PoolWaiter;
using Fixture = PoolFixture;

using test::kSanitizer;

int count_entries(const std::string& folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// Children of this process, zombies included.
int count_children() {
  int count = 0;
  std::FILE* file = std::fopen(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(), "r");
  int pid = 0;
  while (file != nullptr && std::fscanf(file, "%d", &pid) == 1) ++count;
  if (file != nullptr) std::fclose(file);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::getpid())) continue;
    std::FILE* children = std::fopen((task.path() / "children").c_str(), "r");
    while (children != nullptr && std::fscanf(children, "%d", &pid) == 1) ++count;
    if (children != nullptr) std::fclose(children);
  }
  return count;
}

// Ends a process of the pool's and waits until it has ended; the pool is the one to reap it.
void kill_and_wait(pid_t pid) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  REQUIRE(process >= 0);
  CHECK(::kill(pid, SIGKILL) == 0);
  pollfd entry{process, POLLIN, 0};
  CHECK(::poll(&entry, 1, 60'000) == 1);
  ::close(process);
}

TEST_CASE("pool: compiles and lowers through a worker") {
  Fixture fixture;
  Reply reply = fixture.compile("k");
  REQUIRE(reply.ok());
  CHECK(reply->compiled().artifact().data() == "artifact of ast for fake-unknown-linux-gnu");
  Waiting waiting;
  CompileJob job;
  *job.request.mutable_lower() = test_graph({"kernel:a", "kernel:b"});
  *job.request.mutable_target() = test_target();
  job.done = waiting.done();
  REQUIRE(fixture.pool->submit(std::move(job)).ok());
  CHECK(waiting.wait()->lowered().kernels_size() == 2);
}

TEST_CASE("pool: a worker does jobs of one user only") {
  Fixture fixture([](WorkerPoolOptions& options) { options.num_workers = 1; });
  const auto compile_for = [&](uid_t uid) {
    Waiting waiting;
    CompileJob job = fixture.kernel_job("k", waiting);
    job.client = {uid, 7};
    REQUIRE(fixture.pool->submit(std::move(job)).ok());
    CHECK(waiting.wait().ok());
    return fixture.pool->worker_pids();
  };
  const std::vector<pid_t> first = compile_for(1000);
  CHECK(compile_for(1000) == first);
  const std::vector<pid_t> second = compile_for(1001);
  REQUIRE(second.size() == 1);
  CHECK(second != first);
}

TEST_CASE("pool: where no worker outlives its job, each job has a worker of its own") {
  Fixture fixture([](WorkerPoolOptions& options) { options.one_job_a_worker = true; });
  for (int i = 0; i < 3; ++i) CHECK(fixture.compile("k" + std::to_string(i)).ok());
  CHECK(test::eventually([&] { return fixture.pool->num_live_workers() == 0; }));
}

TEST_CASE("pool: a client that keeps all workers busy does not keep another one waiting") {
  Fixture fixture([](WorkerPoolOptions& options) {
    options.num_spare = 1;
    options.command.wall_limit = 1000h;
    options.command.limits.hang_limit = 1000h;
  });
  const Clock::time_point far = fixture.clock.now() + 500h;
  std::vector<std::unique_ptr<Waiting>> hung;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 6; ++i) {
    hung.push_back(std::make_unique<Waiting>());
    CompileJob job = fixture.kernel_job("hang", *hung.back());
    job.key = sha256("hang" + std::to_string(i));
    job.client = {1000, 1};
    ids.push_back(*fixture.pool->submit(std::move(job)));
  }
  Waiting waiting;
  CompileJob job = fixture.kernel_job("k", waiting);
  job.client = {1000, 2};
  REQUIRE(fixture.pool->submit(std::move(job)).ok());
  // A spare worker takes it once it has waited for a while; none of those that hang has ended.
  REQUIRE(fixture.clock.advance_until(10ms, [&] { return waiting.is_done() || fixture.clock.now() > far; }));
  CHECK(waiting.wait().ok());
  CHECK(test::eventually([&] { return fixture.pool->num_queued() == 4; }));
  for (const std::uint64_t id : ids) fixture.pool->cancel(id);
  for (const auto& each : hung) CHECK(absl::IsCancelled(each->wait().status()));
}

TEST_CASE("pool: every way to die is a typed error, and the next job works") {
  struct Case {
    const char* symbol;
    absl::StatusCode code;
    const char* says;
    std::uint64_t num_crashes;
  };
  const std::vector<Case> cases = {
      {"crash", absl::StatusCode::kInternal,
       kSanitizer ? "while compiling kernel 'crash'" : "signal 11 (Segmentation fault) while compiling kernel 'crash'",
       1},
      {"kill", absl::StatusCode::kInternal, "signal 9 (Killed) while compiling kernel 'kill'", 2},  // tried twice
      {"abort", absl::StatusCode::kInternal, "while compiling kernel 'abort'", 1},
      {"stack", absl::StatusCode::kInternal, "while compiling kernel 'stack'", 1},
      {"exit", absl::StatusCode::kInternal, "exited with code 7", 1},
      {"hang", absl::StatusCode::kDeadlineExceeded, "hung (no progress for 200 s)", 0},
      {"spin", absl::StatusCode::kDeadlineExceeded, "did not finish within 100 s", 0},
      {"memory", absl::StatusCode::kResourceExhausted, "used more than 256 MiB", 1},
      {"huge", absl::StatusCode::kInternal, "signal 25", 1},
      {"garbage", absl::StatusCode::kInternal, "answered garbage", 1},
      {"forge", absl::StatusCode::kInternal, "4294967295 bytes exceeds the limit", 1},
      {"throw", absl::StatusCode::kInternal, "thrown on purpose", 0},
      {"error", absl::StatusCode::kInvalidArgument, "refused on purpose", 0},
  };
  for (const Case& one : cases) {
    INFO(one.symbol);
    Fixture fixture([&](WorkerPoolOptions& options) {
      options.num_workers = 1;
      options.command.wall_limit = std::string(one.symbol) == "spin" ? 100s : 1000h;
      options.command.limits.hang_limit = 200s;
      options.command.limits.memory_bytes = 256u << 20;
      options.command.limits.output_bytes = 8u << 20;
    });
    const bool is_late = one.code == absl::StatusCode::kDeadlineExceeded;
    const absl::Status status = (is_late ? fixture.compile_turning(one.symbol) : fixture.compile(one.symbol)).status();
    INFO(status);
    CHECK(status.code() == one.code);
    CHECK(std::string(status.message()).find(one.says) != std::string::npos);
    const Counters counters = fixture.metrics.snapshot();
    CHECK(counters.worker_timeouts == (one.code == absl::StatusCode::kDeadlineExceeded));
    CHECK(counters.worker_crashes == one.num_crashes);
    CHECK(fixture.compile("fine").ok());
  }
}

TEST_CASE("pool: three deaths refuse the key and name a bundle that replays") {
  Fixture fixture;
  for (int i = 0; i < 2; ++i) CHECK(absl::IsInternal(fixture.compile("crash").status()));
  const absl::Status third = fixture.compile("crash").status();
  CHECK(std::string(third.message()).find("refused for 600 s; repro bundle: ") != std::string::npos);
  const absl::Status refused = fixture.compile("crash").status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(fixture.metrics.snapshot().worker_crashes == 3);
  CHECK(fixture.compile("other").ok());
  const std::string message(refused.message());
  const std::size_t begin = message.find(fixture.folder.path());
  const std::string bundle = message.substr(begin, message.find(';', begin) - begin);
  REQUIRE(std::filesystem::exists(bundle));
  const int status = std::system((program("hearth-fake-worker") + " --replay " + bundle + " 2>/dev/null").c_str());
  CHECK(status != 0);
}

// "hang" would last an hour; how soon its end comes is measured by promised_times_bench.
TEST_CASE("pool: cancel ends queued and running jobs, once") {
  Fixture fixture([](WorkerPoolOptions& options) { options.num_workers = 1; });
  REQUIRE(fixture.compile("warm").ok());
  Waiting running, queued, after;
  const auto hang = fixture.pool->submit(fixture.kernel_job("hang", running));
  const auto waits = fixture.pool->submit(fixture.kernel_job("waits", queued));
  REQUIRE((hang.ok() && waits.ok()));
  REQUIRE(test::eventually([&] { return fixture.pool->num_queued() <= 1; }));
  fixture.pool->cancel(*waits);
  CHECK(absl::IsCancelled(queued.wait().status()));
  fixture.pool->cancel(*hang);
  fixture.pool->cancel(*hang);
  CHECK(absl::IsCancelled(running.wait().status()));
  CHECK(fixture.compile("fine").ok());
  CHECK(fixture.metrics.snapshot().worker_crashes == 0);  // nobody's fault
  fixture.pool->cancel(12345);
}

TEST_CASE("pool: cancels race with jobs that end") {
  Fixture fixture;
  for (int i = 0; i < 50; ++i) {
    Waiting waiting;
    const auto id = fixture.pool->submit(fixture.kernel_job("quick" + std::to_string(i), waiting));
    REQUIRE(id.ok());
    for (int k = 0; i % 3 == 1 && k < 40 * (i % 7) && !waiting.is_done(); ++k) std::this_thread::yield();
    fixture.pool->cancel(*id);
    const Reply reply = waiting.wait();
    CHECK((reply.ok() || absl::IsCancelled(reply.status())));
  }
  CHECK(fixture.compile("fine").ok());
}

TEST_CASE("pool: a full queue says when to come back") {
  Fixture fixture([](WorkerPoolOptions& options) {
    options.num_workers = 1;
    options.max_queued_lowerings = 2;
  });
  const auto lowering = [](Waiting& waiting, const char* name) {
    CompileJob job;
    *job.request.mutable_lower() = test_graph({name});
    *job.request.mutable_target() = test_target();
    job.key = sha256(name);
    job.done = waiting.done();
    return job;
  };
  Waiting running, a, b, c;
  const auto hang = fixture.pool->submit(lowering(running, "lower:hang"));
  REQUIRE(hang.ok());
  REQUIRE(test::eventually([&] { return fixture.pool->num_queued() == 0; }));
  REQUIRE(fixture.pool->submit(lowering(a, "lower:a")).ok());
  CompileJob of_another = lowering(b, "lower:b");
  of_another.client.pid = 2;
  REQUIRE(fixture.pool->submit(std::move(of_another)).ok());
  const absl::Status full = fixture.pool->submit(lowering(c, "lower:c")).status();
  CHECK(absl::IsResourceExhausted(full));
  REQUIRE(full.GetPayload(kRetryAfterMsPayload).has_value());
  CHECK(std::stoi(std::string(*full.GetPayload(kRetryAfterMsPayload))) >= 100);
  fixture.pool->cancel(*hang);
  CHECK(absl::IsCancelled(running.wait().status()));
  CHECK((a.wait().ok() && b.wait().ok()));
}

TEST_CASE("pool: idle workers leave, a worker killed while idle is replaced without blame") {
  Fixture fixture([](WorkerPoolOptions& options) {
    options.num_workers = 1;
    options.idle_limit = 60s;
  });
  REQUIRE(fixture.compile("a").ok());
  const std::vector<pid_t> pids = fixture.pool->worker_pids();
  REQUIRE(pids.size() == 1);
  kill_and_wait(pids[0]);
  CHECK(fixture.compile("b").ok());
  CHECK(fixture.metrics.snapshot().worker_crashes == 0);
  fixture.clock.advance(50s);  // not yet
  CHECK(fixture.compile("d").ok());
  CHECK(fixture.pool->num_live_workers() == 1);
  // Twice as long as it takes: a worker that was not idle yet when the clock was turned is by then.
  CHECK(fixture.clock.advance_until(61s, [&] { return fixture.pool->num_live_workers() == 0; }));
  CHECK(fixture.compile("c").ok());
}

TEST_CASE("pool: a worker killed from outside while it compiles costs the caller nothing") {
  Fixture fixture([](WorkerPoolOptions& options) { options.num_workers = 1; });
  REQUIRE(fixture.compile("a").ok());
  const std::vector<pid_t> pids = fixture.pool->worker_pids();
  REQUIRE(pids.size() == 1);
  Waiting waiting;
  CompileJob job = fixture.kernel_job("slower", waiting);
  std::atomic<bool> is_started{false};
  job.started = [&] { is_started = true; };
  REQUIRE(fixture.pool->submit(std::move(job)).ok());
  REQUIRE(test::eventually([&] { return is_started.load(); }));
  kill_and_wait(pids[0]);
  CHECK(waiting.wait().ok());
  CHECK(fixture.metrics.snapshot().worker_crashes == 1);
  CHECK(fixture.pool->worker_pids() != pids);
}

TEST_CASE("pool: a stopped worker counts as hung") {
  Fixture fixture([](WorkerPoolOptions& options) {
    options.num_workers = 1;
    options.command.wall_limit = 1000h;
    options.command.limits.hang_limit = 60s;
  });
  REQUIRE(fixture.compile("a").ok());
  ::kill(fixture.pool->worker_pids().at(0), SIGSTOP);
  const absl::Status status = fixture.compile_turning("b").status();
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK(status.message().find("hung") != absl::string_view::npos);
  CHECK(fixture.compile("c").ok());
}

TEST_CASE("pool: a worker that cannot start or is of another build is a clear error") {
  Fixture missing([](WorkerPoolOptions& options) { options.command.path = "/nowhere/hearth-worker"; });
  const absl::Status status = missing.compile("k").status();
  CHECK(absl::IsNotFound(status));
  CHECK(std::string(status.message()).find("--worker") != std::string::npos);
  Fixture other([](WorkerPoolOptions& options) { options.command.build_id = std::string(64, '0'); });
  CHECK(absl::IsFailedPrecondition(other.compile("k").status()));
  Fixture no_worker([](WorkerPoolOptions& options) { options.command.path = "/bin/false"; });
  CHECK(std::string(no_worker.compile("k").status().message()).find("did not start: exited with code") !=
        std::string::npos);
}

TEST_CASE("pool: 100 crashes leave no zombie, no descriptor, no temp folder") {
  Fixture fixture;
  REQUIRE(fixture.compile("warm").ok());
  const int descriptors = count_entries("/proc/self/fd");
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(fixture.compile((i % 2 ? "crash" : "exit") + std::to_string(i)).ok());
  }
  fixture.pool->warm(2);
  REQUIRE(fixture.compile("fine").ok());
  CHECK(test::eventually([&] { return fixture.pool->num_live_workers() == 2; }));
  CHECK(count_entries("/proc/self/fd") <=
        descriptors + 6);  // a second worker's process and its keeper, socket, output, lock and folder
  CHECK(count_children() == 2);
  CHECK(count_entries(fixture.folder.path()) == 2);
  fixture.pool.reset();
  CHECK(count_children() == 0);
  CHECK(count_entries(fixture.folder.path()) == 0);
}

}  // namespace
}  // namespace hearth::daemon
