// Nothing that a worker started outlives it, however it ends and whatever the machine offers.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "daemon/worker_pool/sandbox_layers.h"
#include "daemon/worker_pool/worker_usage.h"
#include "tests/fault/sandbox/hijack.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"

namespace hearth::sandbox_test {
namespace {

using namespace std::chrono_literals;
using daemon::WorkerProcess;

constexpr int kProcesses = 20;

using test::eventually;

// Living processes of workers that have their folder in `folder`, theirs included: it is in their environment.
int count_processes(const std::string& folder) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    std::string environment;
    std::getline(file, environment, '\x01');
    if (environment.find(folder) != std::string::npos) ++count;
  }
  return count;
}

enum class End { kReply, kWorkerKilled, kKeeperKilled, kAllKilledAtOnce };

// The worker and those above it, all found before one of them ends: 0 would be this test's own group.
struct Family {
  explicit Family(pid_t of) : worker(of), init(daemon::parent_of(of)), keeper(daemon::parent_of(init)) {
    REQUIRE(init > 1);
    REQUIRE(keeper > 1);
  }
  void end(End how) const {
    if (how == End::kWorkerKilled || how == End::kAllKilledAtOnce) ::kill(worker, SIGKILL);
    if (how == End::kAllKilledAtOnce) ::kill(init, SIGKILL);
    if (how == End::kKeeperKilled || how == End::kAllKilledAtOnce) ::kill(keeper, SIGKILL);
  }

  pid_t worker, init, keeper;
};

void check_end(const Conditions& conditions, End end) {
  const daemon::TestFolder folder;
  const auto command = hijacked_command(folder.path(), conditions);
  auto worker = WorkerProcess::spawn(command, -1);
  REQUIRE(worker.ok());
  const Family family((*worker)->pid());
  Targets targets;
  targets.set("tasks", std::to_string(kProcesses));
  bool were_there = false;
  // Long enough for the daemon's look, which comes ten times a second.
  std::thread other([&] {
    were_there = eventually([&] { return count_processes(folder.path()) >= kProcesses; });
    std::this_thread::sleep_for(500ms);
    family.end(end);
  });
  const daemon::Exchange exchange = (*worker)->exchange(hijacked_request("start processes", targets.text()), -1);
  other.join();
  CHECK(were_there);
  CHECK((exchange.end == daemon::WorkerEnd::kReply) == (end == End::kReply));
  worker->reset();
  CHECK(count_processes(folder.path()) == 0);
}

TEST_CASE("worker end: nothing survives it") {
  const End end = GENERATE(End::kReply, End::kWorkerKilled, End::kKeeperKilled, End::kAllKilledAtOnce);
  INFO("end " << static_cast<int>(end));
  SECTION("in the whole sandbox") { check_end({.on = std::nullopt, .programs = true}, end); }
  SECTION("without a pid namespace") {
    check_end(
        {.on = {{"seccomp", "landlock", "user_ns", "mount_ns", "network_ns", "ipc_ns", "limits"}}, .programs = true},
        end);
  }
  SECTION("without any layer") { check_end({.on = std::set<std::string>(), .programs = true}, end); }
}

TEST_CASE("worker end: a stranger who names the worker's folder lives") {
  const daemon::TestFolder folder;
  auto worker = WorkerProcess::spawn(hijacked_command(folder.path(), {.on = std::nullopt, .programs = true}), -1);
  REQUIRE(worker.ok());
  const std::string private_folder = std::filesystem::directory_iterator(folder.path())->path();
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::setenv("LOOKING_AT", private_folder.c_str(), 1);
    ::execl("/bin/sh", "sh", "-c", "sleep 600; true", private_folder.c_str(), nullptr);
    ::_exit(127);
  }
  REQUIRE(eventually([&] { return count_processes(private_folder) > 0; }));
  worker->reset();
  CHECK(::waitpid(stranger, nullptr, WNOHANG) == 0);
  daemon::kill_descendants(stranger);
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

// What moves out of the keeper's sight is left to the cgroup, where one is delegated.
TEST_CASE("worker end: a cgroup is killed as one") {
  const absl::StatusOr<std::string> own = daemon::find_own_cgroup();
  if (!own.ok() || ::geteuid() != 0) {
    SKIP_CASE(own.ok() ? "only root can make a control group here" : "there is no cgroup v2 here");
  }
  const std::string delegated = *own + "/hearth-test-" + std::to_string(::getpid());
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  if (::mkdir(delegated.c_str(), 0755) != 0) {
    SKIP_CASE("control groups are read-only here");
  }
  CHECK_FALSE(daemon::WorkerCgroups::open(delegated).ok());  // root may write in it, but nobody has given it away
  REQUIRE(::setxattr(delegated.c_str(), "trusted.delegate", "1", 1, 0) == 0);
  {
    const auto cgroups = daemon::WorkerCgroups::open(delegated);
    REQUIRE(cgroups.ok());
    const daemon::TestFolder folder;
    auto command = hijacked_command(folder.path(), {.on = std::set<std::string>(), .programs = true});
    command.cgroups = *cgroups;
    auto worker = WorkerProcess::spawn(command, -1);
    REQUIRE(worker.ok());
    const v1::SandboxReport report = command.sandbox->last();
    CHECK(std::any_of(report.layers().begin(), report.layers().end(), [](const v1::SandboxLayer& layer) {
      return layer.name() == daemon::layer::kCgroup && layer.state() != v1::SandboxLayer::OFF;
    }));
    const Family family((*worker)->pid());
    Targets targets;
    targets.set("tasks", std::to_string(kProcesses));
    std::thread other([&] {
      eventually([&] { return count_processes(folder.path()) >= kProcesses; });
      family.end(End::kAllKilledAtOnce);  // before the daemon's next look, perhaps
    });
    (*worker)->exchange(hijacked_request("start processes", targets.text()), -1);
    other.join();
    worker->reset();
    CHECK(count_processes(folder.path()) == 0);
  }
  // Its group of this process, then itself.
  write(*own + "/cgroup.procs", std::to_string(::getpid()));
  CHECK(::rmdir((delegated + "/hearthd").c_str()) == 0);
  CHECK(::rmdir(delegated.c_str()) == 0);
}

}  // namespace
}  // namespace hearth::sandbox_test
