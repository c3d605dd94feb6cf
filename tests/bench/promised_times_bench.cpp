// promised_times_bench: the times that the service promises for what goes wrong, beside the promise; exit code 1 when
// one is not kept. Tests check the order of these events and not their times. Run it on a quiet machine:
//   HEARTH_BIN_DIR=build/release/bin build/release/bin/promised_times_bench
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "client/connection/daemon_channel.h"
#include "client/connection/daemon_starter.h"
#include "tests/integration/place.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using integration::Place;
using namespace std::chrono_literals;

constexpr int kRounds = 20;
constexpr auto kDeadline = 300ms;
bool all_kept = true;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

void report(const char* what, double promised_ms, const std::function<double()>& measure) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) times.push_back(measure());
  std::ranges::sort(times);
  const bool kept = times.back() <= promised_ms;
  all_kept = all_kept && kept;
  std::printf("%-66s median %7.1f ms, worst %7.1f, promised %6.0f%s\n", what, times[times.size() / 2], times.back(),
              promised_ms, kept ? "" : "  BROKEN");
  std::fflush(stdout);
}

// How far beyond its deadline a call returns, which must be for the deadline.
double overshoot(const std::function<absl::Status(Clock::time_point)>& call) {
  const Clock::time_point deadline = Clock::now() + kDeadline;
  const absl::Status status = call(deadline);
  expect(absl::IsDeadlineExceeded(status), std::string(status.ToString()).c_str());
  return ms_since(deadline);
}

std::shared_ptr<client::DaemonChannel> channel_to(const Place& place) {
  auto channel = client::DaemonChannel::get({.socket = place.socket(), .auto_start = false});
  expect(channel.ok(), "no channel");
  return *channel;
}

void end_fakes(const Place& place) {
  std::ifstream file(place.socket() + ".starts");
  for (pid_t pid; file >> pid;) ::kill(pid, SIGKILL);
}

// A hearthd whose workers have the fake compiler, for which "kernel:hang" takes an hour.
struct FakeCompilers {
  Place place;
  pid_t daemon = 0;
  FakeCompilers() {
    place.environment()["HEARTH_WORKER"] = (integration::bin_dir() / "hearth-fake-worker").string();
    place.environment()["HEARTH_WORKERS"] = "1";
    place.run_ok({"hearth", "daemon", "start"});
    daemon = place.daemons().at(0);
  }
};

void dead_daemons() {
  ::setenv("HEARTH_DAEMON", (integration::bin_dir() / "fake_hearthd").c_str(), 1);
  ::setenv("HEARTH_FAKE_DAEMON", "mute", 1);
  report("a start's deadline: the daemon never becomes ready", 100, [] {
    Place place;
    const double late =
        overshoot([&](Clock::time_point deadline) { return client::start_daemon(place.socket(), deadline); });
    end_fakes(place);
    return late;
  });
  ::unsetenv("HEARTH_FAKE_DAEMON");
  report("a prepare's deadline: the daemon accepts and never answers", 100, [] {
    Place place;
    expect(client::start_daemon(place.socket(), Clock::now() + 10s).ok(), "no fake daemon");
    const double late = overshoot([&](auto deadline) { return channel_to(place)->prepare({}, deadline).status(); });
    end_fakes(place);
    return late;
  });
  ::unsetenv("HEARTH_DAEMON");
}

void hanging_compiles() {
  FakeCompilers fake;
  int number = 0;
  const auto hang = [&] { return daemon::test_request({"kernel:hang" + std::to_string(number++)}); };
  report("a prepare's deadline: its compile hangs", 100, [&] {
    return overshoot([&](auto deadline) { return channel_to(fake.place)->prepare(hang(), deadline).status(); });
  });
  report("a prepare's deadline: the daemon is stopped (SIGSTOP)", 100, [&] {
    ::kill(fake.daemon, SIGSTOP);
    const double late =
        overshoot([&](auto deadline) { return channel_to(fake.place)->prepare(hang(), deadline).status(); });
    ::kill(fake.daemon, SIGCONT);
    return late;
  });
  report("a caller that dies ends its compile: until the worker is gone", 1000, [&] {
    const v1::PrepareRequest request = hang();
    const pid_t caller = ::fork();
    if (caller == 0) {
      // The channel of the parent is no use after a fork.
      ::execl((integration::bin_dir() / "promised_times_bench").c_str(), "promised_times_bench",
              fake.place.socket().c_str(), request.graph().nodes(0).name().c_str(), nullptr);
      ::_exit(127);
    }
    std::vector<pid_t> workers;
    // The worker that hangs has begun once it sleeps in a compile: the stats tell that a kernel is on its way.
    while ((workers = integration::children_of(fake.daemon)).empty()) ::usleep(1000);
    ::usleep(200'000);
    workers = integration::children_of(fake.daemon);
    ::kill(caller, SIGKILL);
    const Clock::time_point begin = Clock::now();
    while (std::ranges::any_of(workers, integration::alive)) ::usleep(500);
    ::waitpid(caller, nullptr, 0);
    return ms_since(begin);
  });
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  try {
    if (argc == 3) {  // the caller that dies
      auto channel = client::DaemonChannel::get({.socket = argv[1], .auto_start = false});
      return (*channel)->prepare(daemon::test_request({argv[2]}), Clock::now() + 10min).ok() ? 0 : 1;
    }
    dead_daemons();
    hanging_compiles();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "promised_times_bench: %s\n", error.what());
    return 1;
  }
  return all_kept ? 0 : 1;
}
