// What a worker's sandbox is when the machine does not offer all of it, and what is said about that.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <sstream>

#include "daemon/worker_pool/sandbox_layers.h"
#include "tests/fault/sandbox/hijack.h"
#include "tests/support/skip.h"

namespace hearth::sandbox_test {
namespace {

using daemon::SandboxSetting;
using daemon::SandboxStatus;
using daemon::WorkerProcess;

absl::Status start_without(const std::set<std::string>& without, SandboxSetting setting,
                           v1::SandboxReport* report = nullptr) {
  const daemon::TestFolder folder;
  daemon::WorkerCommand command = hijacked_command(folder.path(), {});
  command.without = without;
  command.sandbox = std::make_shared<SandboxStatus>(setting, "hijacked workers");
  auto worker = WorkerProcess::spawn(command, -1);
  if (report != nullptr) *report = command.sandbox->last();
  if (!worker.ok()) return worker.status();
  // It works all the same.
  const daemon::Exchange exchange = (*worker)->exchange(hijacked_request("belongings", ""), -1);
  CHECK(exchange.end == daemon::WorkerEnd::kReply);
  return absl::OkStatus();
}

v1::SandboxLayer::State state_of(const v1::SandboxReport& report, const std::string& name) {
  for (const v1::SandboxLayer& layer : report.layers()) {
    if (layer.name() == name) return layer.state();
  }
  return v1::SandboxLayer::UNKNOWN;
}

TEST_CASE("sandbox: every layer may be missing, and is told of") {
  for (const char* name : daemon::kWorkerLayers) {
    INFO("without " << name);
    v1::SandboxReport report;
    CHECK(start_without({name}, SandboxSetting::kBestEffort, &report).ok());
    CHECK(state_of(report, name) == v1::SandboxLayer::OFF);
    const absl::Status refused = start_without({name}, SandboxSetting::kRequired);
    CHECK(absl::IsFailedPrecondition(refused));
    const std::string message(refused.message());
    CHECK(message.find(std::string("the sandbox of hijacked workers lacks ")) == 0);
    CHECK(message.find(std::string(name) + " (left out)") != std::string::npos);
    CHECK(message.find("set sandbox = best-effort") != std::string::npos);
  }
}

TEST_CASE("sandbox: with nothing of it a worker still compiles and its folder is looked after") {
  const std::set<std::string> all(std::begin(daemon::kWorkerLayers), std::end(daemon::kWorkerLayers));
  v1::SandboxReport report;
  CHECK(start_without(all, SandboxSetting::kBestEffort, &report).ok());
  for (const std::string& name : all) CHECK(state_of(report, name) == v1::SandboxLayer::OFF);
  CHECK(state_of(report, daemon::layer::kFolder) == v1::SandboxLayer::PARTIAL);
}

// Runs `body` as this user in a user namespace that allows no further namespaces, as in a container. Nothing when that
// cannot be had here.
std::optional<int> where_no_namespace_may_be_made(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto write = [](const std::string& path, const std::string& text) {
      return static_cast<bool>(std::ofstream(path) << text << std::flush);
    };
    const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(77);
    write("/proc/self/setgroups", "deny");
    bool done = write("/proc/self/uid_map", user + " " + user + " 1") &&
                write("/proc/self/gid_map", group + " " + group + " 1");
    for (const char* kind : {"user", "pid", "mnt", "net", "ipc"})
      done = write(std::string("/proc/sys/user/max_") + kind + "_namespaces", "0") && done;
    ::_exit(done ? body() : 77);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) return std::nullopt;
  return WEXITSTATUS(status);
}

TEST_CASE("sandbox: where no namespace may be made the rest is entered") {
  const std::optional<int> result = where_no_namespace_may_be_made([] {
    v1::SandboxReport report;
    if (!start_without({}, SandboxSetting::kBestEffort, &report).ok()) return 1;
    for (const char* name : {"user_ns", "mount_ns", "pid_ns", "network_ns", "ipc_ns"}) {
      if (state_of(report, name) != v1::SandboxLayer::OFF) return 2;
    }
    for (const char* name : {"seccomp", "limits"}) {
      if (state_of(report, name) != v1::SandboxLayer::ON && state_of(report, name) != v1::SandboxLayer::PARTIAL)
        return 3;
    }
    const absl::Status refused = start_without({}, SandboxSetting::kRequired);
    return std::string(refused.message()).find("user_ns (no more are allowed, by sysctl user.max_*_namespaces)") !=
                   std::string::npos
               ? 0
               : 4;
  });
  if (!result) SKIP_CASE("this user cannot make a container without namespaces here");
  CHECK(*result == 0);
}

TEST_CASE("sandbox: hearthd refuses to start when a required layer is missing, and names it") {
  const daemon::TestFolder folder;
  const auto start = [&folder](const char* setting) {
    const std::string command = daemon::program("hearthd") + " --worker " + daemon::program("hearth-hijacked-worker") +
                                " --blob-worker /nowhere --socket " + (folder / "s.sock") + " --cache-dir " +
                                (folder / "cache") + " --idle-exit 0.1 --sandbox " + setting + " > " +
                                (folder / "log") + " 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  };
  const std::optional<int> refused = where_no_namespace_may_be_made([&] { return start("required"); });
  if (!refused) SKIP_CASE("this user cannot make a container without namespaces here");
  CHECK(*refused == 1);
  std::ifstream log(folder / "log");
  std::string line;
  std::getline(log, line);
  CHECK(line.find("hearthd: the sandbox of compiler workers lacks user_ns (") == 0);
  CHECK_FALSE(std::getline(log, line));
  CHECK(where_no_namespace_may_be_made([&] { return start("best-effort"); }) == 0);
  CHECK(where_no_namespace_may_be_made([&] { return start("off"); }) == 0);
}

TEST_CASE("sandbox: a worker gets no descriptor and no variable that it does not need") {
  ::setenv("HEARTH_TEST_PASSWORD", "sesame", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "sesame", 1);
  for (const bool programs : {false, true}) {
    const daemon::TestFolder folder;
    auto worker = WorkerProcess::spawn(hijacked_command(folder.path(), {.on = std::nullopt, .programs = programs}), -1);
    REQUIRE(worker.ok());
    const daemon::Exchange exchange = (*worker)->exchange(hijacked_request("belongings", ""), -1);
    const std::string had = exchange.reply.compiled().artifact().data();
    INFO(had);
    CHECK(had.find("sesame") == std::string::npos);
    std::istringstream lines(had);
    const std::regex variable("variable (LC_ALL|TMPDIR|LD_LIBRARY_PATH|[A-Z]+SAN_OPTIONS)=.*");
    const std::regex more("variable (HOME|PATH|ROCM_PATH|HEARTH_HIPCC|HEARTH_BLOB_(CXX|CLANG))=.*");
    const std::regex descriptor("descriptor ([0-2] (/dev/null|/?pipe:.*)|3 socket:.*|[0-9]+ /proc.*)");
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      const bool is_expected = std::regex_match(line, variable) || (programs && std::regex_match(line, more)) ||
                               std::regex_match(line, descriptor);
      CHECK(is_expected);
    }
  }
  ::unsetenv("HEARTH_TEST_PASSWORD");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
}

}  // namespace
}  // namespace hearth::sandbox_test
