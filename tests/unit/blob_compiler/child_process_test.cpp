// A program that is not trusted: whatever it does, the call ends, says what happened and leaves nothing running.
#include "blobs/tools/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/support/eventually.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;
using namespace std::chrono_literals;

namespace {

ChildCommand shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script}, .environment = minimal_environment({})};
}

// Whether a process still runs; one that is dead but not collected yet by init does not.
bool runs(const std::string& pid) {
  if (pid.empty() || ::kill(std::stoi(pid), 0) != 0) return false;
  std::string state;
  FILE* file = std::fopen(("/proc/" + pid.substr(0, pid.find('\n')) + "/stat").c_str(), "r");
  if (file == nullptr) return false;
  char text[256] = {};
  const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const std::string line(text, size);
  // Nothing to read: it was collected after the file was opened.
  return !line.empty() && line.find(") Z") == std::string::npos && line.find(") X") == std::string::npos;
}

}  // namespace

TEST_CASE("Exit code, stdout and stderr come back, each by itself") {
  const auto run = run_child(shell("echo out; echo err >&2; exit 7"));
  REQUIRE(run.ok());
  CHECK(run->exit_code == 7);
  CHECK(run->signal == 0);
  CHECK(run->output == "out\n");
  CHECK(run->errors == "err\n");
  CHECK_FALSE(run->timed_out);
}

TEST_CASE("A signal is not an exit code") {
  const auto run = run_child(shell("kill -SEGV $$"));
  REQUIRE(run.ok());
  CHECK(run->signal == SIGSEGV);
}

TEST_CASE("Time is up: the program ends with everything that it started, also what left its group and session") {
  const Place place;
  ChildCommand command = shell(
      "sleep 600 & echo $! > a; "
      "setsid sh -c 'echo $$ > c; sleep 600' & sleep 600");
  command.folder = place.path("");
  command.wall_limit = 1500ms;
  const auto run = run_child(command);
  REQUIRE(run.ok());
  CHECK(run->timed_out);
  for (const char* file : {"a", "c"}) {
    const std::string pid = place.read(file);
    REQUIRE(!pid.empty());
    CHECK_FALSE(runs(pid));
  }
}

TEST_CASE("Children that a program leaves behind are killed, and do not hold the call up") {
  const Place place;
  ChildCommand command = shell("sleep 600 & echo $! > a; setsid sh -c 'echo $$ > b; sleep 600' & sleep 0.3; exit 3");
  command.folder = place.path("");
  const auto run = run_child(command);
  REQUIRE(run.ok());
  CHECK(run->exit_code == 3);
  for (const char* file : {"a", "b"}) {
    REQUIRE(!place.read(file).empty());
    CHECK_FALSE(runs(place.read(file)));
  }
}

TEST_CASE("When the process that waits is killed, the program and its children go too") {
  const Place place;
  ChildCommand command = shell("sleep 600 & echo $! > a.part; mv a.part a; sleep 600");
  command.folder = place.path("");
  command.wall_limit = 10min;
  const pid_t waiting = ::fork();
  if (waiting == 0) {
    (void)run_child(command).ok();
    ::_exit(0);
  }
  REQUIRE(hearth::test::eventually([&] { return !place.read("a").empty(); }));
  const std::string pid = place.read("a");
  REQUIRE(runs(pid));
  ::kill(waiting, SIGKILL);
  ::waitpid(waiting, nullptr, 0);
  CHECK(hearth::test::eventually([&] { return !runs(pid); }));
}

TEST_CASE("Nobody's open files live on while a program runs") {
  const Place place;
  ChildCommand command = shell("echo here > here; while [ ! -e stop ]; do sleep 0.02; done");
  command.folder = place.path("");
  command.wall_limit = 2min;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread run([&] {
    const auto patient = run_child(command);
    CHECK((patient.ok() && patient->exit_code == 0));
  });
  REQUIRE(hearth::test::eventually([&] { return !place.read("here").empty(); }));
  ::close(ends[1]);
  pollfd end{ends[0], POLLIN, 0};
  CHECK(::poll(&end, 1, static_cast<int>(std::chrono::milliseconds(hearth::test::give_up()).count())) ==
        1);  // hung up: no other process has the writing end
  place.write("stop", "");
  ::close(ends[0]);
  run.join();
}

TEST_CASE("Of a flood on stderr the end is kept") {
  ChildCommand command = shell("i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done");
  command.keep_bytes = 1000;
  const auto run = run_child(command);
  REQUIRE(run.ok());
  CHECK(run->errors.size() <= 1000);
  CHECK(run->errors.ends_with("line 19999\n"));
}

TEST_CASE("Limits: the size of a file, the address space, no core; stdin is empty") {
  const Place place;
  ChildCommand command = shell("ulimit -c; cat; exec dd if=/dev/zero of=big bs=1M count=8");
  command.folder = place.path("");
  command.output_bytes = 1 << 20;
  const auto large = run_child(command);
  REQUIRE(large.ok());
  CHECK(large->signal == SIGXFSZ);
  CHECK(large->output == "0\n");
  command = shell("ulimit -v");
  command.memory_bytes = 512 << 20;
  const auto memory = run_child(command);
  REQUIRE(memory.ok());
  CHECK(memory->output == "524288\n");
}

TEST_CASE("The environment is only what is said") {
  Place place;
  place.set("CPATH", "/secret");
  place.set("LD_PRELOAD", "");
  ChildCommand command = shell("env");
  command.environment = minimal_environment("/tmp/t");
  const auto run = run_child(command);
  REQUIRE(run.ok());
  CHECK(run->output.find("/secret") == std::string::npos);
  CHECK(run->output.find("TMPDIR=/tmp/t\n") != std::string::npos);
  CHECK(run->output.find("LANG=C\n") != std::string::npos);
  CHECK(run->output.find("LD_PRELOAD") == std::string::npos);
}

TEST_CASE("A program that is not there, or no program") {
  const Place place;
  const auto absent = run_child({.arguments = {place.path("absent")}});
  CHECK(absl::IsNotFound(absent.status()));
  says(absent.status(), "absent");
  const auto text = run_child({.arguments = {place.write("text", "hello")}});
  CHECK(absl::IsPermissionDenied(text.status()));
  ChildCommand elsewhere = shell("true");
  elsewhere.folder = place.path("no-folder");
  CHECK(absl::IsNotFound(run_child(elsewhere).status()));
}

TEST_CASE("Many threads run programs at once") {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&right, i] {
      const auto run = run_child(shell("echo " + std::to_string(i)));
      if (run.ok() && run->output == std::to_string(i) + "\n") ++right;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 16);
}
