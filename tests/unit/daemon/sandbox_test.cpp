#include "daemon/worker/sandbox.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>

#include "daemon/worker/trial_load.h"
#include "tests/support/skip.h"
#include "tests/unit/daemon/test_folder.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {
namespace {

// Runs `body` in a child that has entered the sandbox with `folder` as its own; its exit code.
template <class Body>
int in_sandbox(const std::string& folder, Body body, bool programs = false) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TMPDIR", folder.c_str(), 1);
    const SandboxLimits limits = {
        .parent = ::getppid(), .memory_bytes = 0, .output_bytes = 1 << 20, .programs = programs};
    if (!enter_sandbox(limits)) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("sandbox: no sockets, no tracing, no programs") {
  TestFolder folder;
  const int result = in_sandbox(folder.path(), [] {
    if (!sandbox_state().syscalls_filtered) return 50;
    if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 1;
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) return 2;
    ::execl("/bin/true", "true", nullptr);
    return errno == EPERM ? 0 : 3;
  });
  if (result == 50) SKIP_CASE("this kernel offers no seccomp here");
  CHECK(result == 0);
}

TEST_CASE("sandbox: writes only in the private folder") {
  TestFolder own, other;
  const std::string outside = other / "file";
  const int result = in_sandbox(own.path(), [&] {
    if (!sandbox_state().writes_confined) return 50;
    if (::open((own / "file").c_str(), O_CREAT | O_WRONLY, 0600) < 0) return 1;
    if (::open(outside.c_str(), O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES) return 2;
    if (::open((own.path() + "/../" + outside.substr(outside.find("hearth-test"))).c_str(), O_CREAT | O_WRONLY, 0600) >=
        0)
      return 3;
    return 0;
  });
  if (result == 50) SKIP_CASE("this kernel offers no Landlock here");
  CHECK(result == 0);
}

TEST_CASE("sandbox: programs that may be started are in it, too") {
  TestFolder own, other;
  const std::string script =
      "echo x > " + (own / "file") + " && echo x > /dev/null && ! (echo x > " + (other / "file") + ") 2> /dev/null";
  const auto body = [&](bool confined) {
    return [&script, confined] {
      if (confined && !sandbox_state().writes_confined) return 50;
      if (!sandbox_state().syscalls_filtered) return 50;
      // No network for them either: /dev/tcp of bash is a socket.
      return std::system(confined ? script.c_str() : "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' 2>&1 | grep -q permitted");
    };
  };
  for (const bool confined : {true, false}) {
    const int result = in_sandbox(own.path(), body(confined), /*programs=*/true);
    if (result == 50) SKIP_CASE("this kernel offers no Landlock or seccomp here");
    CHECK(result == 0);
  }
  CHECK_FALSE(std::filesystem::exists(other / "file"));
}

TEST_CASE("sandbox: a wrong parent is noticed") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(enter_sandbox({.parent = 1 << 22, .memory_bytes = 0, .output_bytes = 0}) ? 1 : 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("trial load: only this host's libraries, and garbage fails") {
  v1::Artifact artifact;
  artifact.set_format(v1::Artifact::ELF_SO);
  CHECK_FALSE(is_loadable_here(test_target(), artifact));
  const absl::Status status = trial_load("not an ELF file", "kernel");
  CHECK(absl::IsInternal(status));
  CHECK(std::string(status.message()).find("kernel 'kernel' does not load") != std::string::npos);
}

}  // namespace
}  // namespace hearth::daemon
