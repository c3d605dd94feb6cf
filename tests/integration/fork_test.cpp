// Processes that fork with a daemon's connection, a session and prepared plans, and a daemon that does not read.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "client/connection/daemon_channel.h"
#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "tests/integration/live_daemon.h"
#include "tests/support/eventually.h"

using namespace hearth;
using namespace hearth::client;
using hearth::integration::LiveDaemon;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kLength = 1 << 16;  // enough for two threads to share

absl::StatusOr<PreparedPlan> prepare_times(double factor, const PrepareConfig& config) {
  return prepare({{"y", input("x", {kLength}, DType::kF32) * factor}}, config);
}

[[maybe_unused]] bool replays(const PreparedPlan& plan, float factor, int threads) {
  absl::StatusOr<Instance> run = plan.instantiate({.threads = threads});
  if (!run.ok()) return false;
  const std::vector<float> x(kLength, 3);
  for (int i = 0; i < 3; ++i) {
    if (!run->bind_input("x", x.data(), x.size() * sizeof(float)).ok() || !run->execute().ok()) return false;
    const auto* y = static_cast<const float*>(run->output("y")->data);
    if (!std::all_of(y, y + kLength, [&](float value) { return value == 3 * factor; })) return false;
  }
  return true;
}

// Runs `body` in a forked child, which is ended after two minutes; its exit code is the number of the step that failed.
template <typename F>
pid_t in_child(F body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(120);
  _exit(body());
}

[[maybe_unused]] int exit_code(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

v1::StatsResponse stats_of(const LiveDaemon& daemon) {
  auto stats = (*DaemonChannel::get({.socket = daemon.socket(), .auto_start = false}))->stats(10s);
  REQUIRE(stats.ok());
  return *stats;
}

// Leases and sessions as the daemon counts them, once they are as wanted or after a while.
std::pair<std::uint64_t, std::uint64_t> leases_and_sessions(const LiveDaemon& daemon,
                                                            std::pair<std::uint64_t, std::uint64_t> wanted) {
  std::pair<std::uint64_t, std::uint64_t> seen;
  test::eventually([&] {
    const v1::StatsResponse stats = stats_of(daemon);
    seen = {stats.leases(), stats.sessions()};
    return seen == wanted;
  });
  return seen;
}

}  // namespace

#ifndef __SANITIZE_THREAD__  // which ends a process that starts threads after a fork

TEST_CASE("forked children prepare and replay beside their parent, again and again", "[fork]") {
  const LiveDaemon daemon;
  const PrepareConfig config = daemon.config();
  absl::StatusOr<PreparedPlan> plan = prepare_times(2, config);
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> used = plan->instantiate({.threads = 2});
  REQUIRE((used.ok() && used->execute().ok()));
  for (int round = 0; round < 10; ++round) {
    INFO("round " << round);
    const pid_t child = in_child([&] {
      if (!replays(*plan, 2, 1)) return 1;
      if (!used->execute().ok()) return 2;  // with threads that the parent had started
      if (!replays(*plan, 2, 2)) return 3;
      // A plan of its own, new in every second round; then a grandchild does the same.
      const double factor = 3 + round / 2;
      const absl::StatusOr<PreparedPlan> own = prepare_times(factor, config);
      if (!own.ok()) return 4;
      if (!replays(*own, static_cast<float>(factor), 2)) return 5;
      const pid_t grandchild = in_child([&] {
        const absl::StatusOr<PreparedPlan> again = prepare_times(factor, config);
        return again.ok() && replays(*again, static_cast<float>(factor), 1) ? 0 : 1;
      });
      if (exit_code(grandchild) != 0) return 6;
      return replays(*plan, 2, 1) ? 0 : 7;
    });
    const absl::StatusOr<PreparedPlan> beside = prepare_times(100 + round / 2, config);
    CHECK((beside.ok() && replays(*beside, static_cast<float>(100 + round / 2), 2)));
    CHECK(exit_code(child) == 0);
  }
  // The children's sessions ended with them, the parent's stands and has its one plan.
  CHECK(leases_and_sessions(daemon, {1, 1}) == std::pair<std::uint64_t, std::uint64_t>{1, 1});
}

TEST_CASE("a forked child that drops its copies of plans gives none of its parent's leases back", "[fork]") {
  const LiveDaemon daemon;
  std::vector<PreparedPlan> plans;
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<PreparedPlan> plan = prepare_times(2 + i, daemon.config());
    REQUIRE(plan.ok());
    plans.push_back(*std::move(plan));
  }
  int to_child[2], to_parent[2];
  REQUIRE((pipe(to_child) == 0 && pipe(to_parent) == 0));
  char byte = 0;
  const pid_t child = in_child([&] {
    close(to_child[1]);  // so that it does not wait for a parent that failed
    plans.clear();
    const absl::StatusOr<PreparedPlan> own = prepare_times(9, daemon.config());
    if (!own.ok() || write(to_parent[1], "d", 1) != 1) return 1;
    return read(to_child[0], &byte, 1) == 1 ? 0 : 2;
  });
  close(to_parent[1]);
  REQUIRE(read(to_parent[0], &byte, 1) == 1);  // the child has dropped them, and has a lease of its own
  CHECK(leases_and_sessions(daemon, {4, 2}) == std::pair<std::uint64_t, std::uint64_t>{4, 2});
  REQUIRE(write(to_child[1], "g", 1) == 1);
  CHECK(exit_code(child) == 0);
  CHECK(leases_and_sessions(daemon, {3, 1}) == std::pair<std::uint64_t, std::uint64_t>{3, 1});
  plans.clear();
  CHECK(leases_and_sessions(daemon, {0, 1}) == std::pair<std::uint64_t, std::uint64_t>{0, 1});
}

TEST_CASE("a child that was forked while another thread prepared does its own work", "[fork]") {
  const LiveDaemon daemon;
  std::promise<void> inside, go_on;
  PrepareConfig held = daemon.config();
  std::atomic<bool> first{true};
  held.progress = [&](const PrepareProgress&) {
    if (!first.exchange(false)) return;
    inside.set_value();
    go_on.get_future().wait();
  };
  auto other = std::async(std::launch::async, [&] { return prepare_times(2, held).status(); });
  inside.get_future().wait();
  const int code = exit_code(in_child([&] {
    const absl::StatusOr<PreparedPlan> own = prepare_times(3, daemon.config());
    return own.ok() && replays(*own, 3, 2) ? 0 : 1;
  }));
  go_on.set_value();
  CHECK(code == 0);
  CHECK(other.get().ok());
}

TEST_CASE("a callback that forks ends the child's copy of the call, not the parent's", "[fork]") {
  const LiveDaemon daemon;
  const pid_t parent = getpid();
  pid_t child = -1;
  PrepareConfig forks = daemon.config();
  forks.progress = [&](const PrepareProgress& progress) {
    if (child < 0 && progress.state != PrepareProgress::State::kLoading) child = fork();
    if (child == 0) alarm(120);
  };
  const absl::StatusOr<PreparedPlan> plan = prepare_times(2, forks);
  if (getpid() != parent) {
    const absl::StatusOr<PreparedPlan> own = prepare_times(2, daemon.config());
    _exit(absl::IsUnavailable(plan.status()) && own.ok() && replays(*own, 2, 1) ? 0 : 1);
  }
  REQUIRE(child > 0);
  CHECK(exit_code(child) == 0);
  CHECK((plan.ok() && replays(*plan, 2, 1)));
}

#endif

TEST_CASE("plans are dropped at once while the daemon is stopped") {
  LiveDaemon daemon;
  absl::StatusOr<PreparedPlan> plan = prepare_times(2, daemon.config());
  REQUIRE(plan.ok());
  CHECK(leases_and_sessions(daemon, {1, 1}) == std::pair<std::uint64_t, std::uint64_t>{1, 1});
  const std::vector<pid_t> pids = daemon.place().daemons();
  REQUIRE(pids.size() == 1);
  kill(pids[0], SIGSTOP);
  // What dropping a plan does, far more often than a socket has room for; the ids are nobody's.
  auto dropped = std::async(std::launch::async, [&] {
    const auto channel = *DaemonChannel::get({.socket = daemon.socket(), .auto_start = false});
    for (std::uint64_t i = 0; i < 200'000; ++i) channel->release_lease(1'000'000'000 + i);
    plan = absl::UnknownError("dropped");
  });
  const bool at_once = dropped.wait_for(test::give_up()) == std::future_status::ready;
  kill(pids[0], SIGCONT);
  CHECK(at_once);
  dropped.wait();
}

TEST_CASE("a daemon that was stopped gets the leases back once it goes on") {
  LiveDaemon daemon;
  absl::StatusOr<PreparedPlan> plan = prepare_times(2, daemon.config());
  REQUIRE(plan.ok());
  const std::vector<pid_t> pids = daemon.place().daemons();
  REQUIRE(pids.size() == 1);
  kill(pids[0], SIGSTOP);
  plan = absl::UnknownError("dropped");
  kill(pids[0], SIGCONT);
  CHECK(leases_and_sessions(daemon, {0, 1}) == std::pair<std::uint64_t, std::uint64_t>{0, 1});
}
