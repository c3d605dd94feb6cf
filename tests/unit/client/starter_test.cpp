#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/cancellation.h"
#include "client/connection/daemon_channel.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/daemon_starter.h"
#include "tests/support/eventually.h"

using namespace hearth::client;
using Clock = std::chrono::steady_clock;

namespace {

// A private folder for a socket; ends the fake daemons that were started on it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth-start-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
    const char* bin = std::getenv("HEARTH_BIN_DIR");
    const auto self = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    setenv("HEARTH_DAEMON", ((bin ? std::filesystem::path(bin) : self) / "fake_hearthd").c_str(), 1);
    unsetenv("HEARTH_FAKE_DAEMON");
    unsetenv("HEARTH_NO_AUTOSTART");
  }
  ~Folder() {
    for (pid_t pid : starts()) kill(pid, SIGKILL);
    unsetenv("HEARTH_DAEMON");
    unsetenv("HEARTH_FAKE_DAEMON");
    std::filesystem::remove_all(path_);
  }
  std::string socket() const { return path_ + "/d.sock"; }
  std::vector<pid_t> starts() const {
    std::ifstream file(socket() + ".starts");
    std::vector<pid_t> pids;
    for (pid_t pid; file >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  std::string path_;
};

// A deadline that nothing meets.
Clock::time_point later() { return Clock::now() + hearth::test::give_up(); }

}  // namespace

TEST_CASE("50 processes race and exactly one daemon starts") {
  const Folder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const absl::Status status = start_daemon(folder.socket(), later());
      _exit(status.ok() && daemon_accepts(folder.socket()).value_or(false) ? 0 : 1);
    }
    children.push_back(child);
  }
  int good = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  CHECK(good == 50);
  CHECK(folder.starts().size() == 1);
}

TEST_CASE("a daemon that dies is quoted") {
  const Folder folder;
  setenv("HEARTH_FAKE_DAEMON", "die", 1);
  const absl::Status status = start_daemon(folder.socket(), later());
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("ended before it was ready"));
  CHECK_THAT(std::string(status.message()), Catch::Contains("the fake daemon was told to die"));
}

TEST_CASE("a daemon that leaves while another is started is followed by a third") {
  const Folder folder;
  setenv("HEARTH_FAKE_DAEMON", "leaves", 1);
  const absl::Status status = start_daemon(folder.socket(), later());
  INFO(status);
  CHECK(status.ok());
  CHECK(folder.starts().size() == 2);
}

// How late an error comes is measured by promised_times_bench. Here the fake daemon outlives every deadline: whoever
// waited for it instead would get another error.
TEST_CASE("a daemon that never gets ready costs no more than the deadline") {
  const Folder folder;
  setenv("HEARTH_FAKE_DAEMON", "mute", 1);
  const absl::Status status = start_daemon(folder.socket(), Clock::now() + std::chrono::milliseconds(300));
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("did not become ready in time"));
  REQUIRE(hearth::test::eventually([&] { return folder.starts().size() == 1; }));
  CHECK(kill(folder.starts()[0], 0) == 0);
}

TEST_CASE("who cancels while a daemon starts does not wait for it") {
  const Folder folder;
  setenv("HEARTH_FAKE_DAEMON", "mute", 1);
  int asked = 0;
  const std::function<bool()> cancelled = [&] { return ++asked == 2; };
  const hearth::CancelScope scope(cancelled);
  const absl::Status status = start_daemon(folder.socket(), later());
  CHECK(absl::IsCancelled(status));
  REQUIRE(hearth::test::eventually([&] { return folder.starts().size() == 1; }));
  CHECK(kill(folder.starts()[0], 0) == 0);
  CHECK(absl::IsCancelled(start_daemon(folder.socket(), later())));
  CHECK(asked == 2);  // what was cancelled stays so
}

TEST_CASE("who starts while the daemon of a starter that gave up still starts uses that one") {
  const Folder folder;
  setenv("HEARTH_FAKE_DAEMON", "second", 1);
  CHECK(absl::IsDeadlineExceeded(start_daemon(folder.socket(), Clock::now() + std::chrono::milliseconds(50))));
  REQUIRE(hearth::test::eventually([&] { return !folder.starts().empty(); }));  // it starts on without its starter
  const absl::Status status = start_daemon(folder.socket(), later());
  INFO(status.ToString());
  CHECK(status.ok());
  CHECK(folder.starts().size() == 2);
  CHECK(daemon_accepts(folder.socket()).value_or(false));
}

TEST_CASE("a missing hearthd and a forbidden start are said plainly") {
  const Folder folder;
  setenv("HEARTH_DAEMON", "/nonexistent/hearthd", 1);
  const absl::Status status = start_daemon(folder.socket(), later());
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("HEARTH_DAEMON names '/nonexistent/hearthd'"));
  auto channel = DaemonChannel::get({.socket = folder.socket(), .auto_start = false});
  REQUIRE(channel.ok());
  const absl::Status refused = (*channel)->prepare({}, later()).status();
  CHECK(absl::IsUnavailable(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("no daemon listens on " + folder.socket()));
  CHECK(absl::IsInvalidArgument(DaemonChannel::get({.socket = "/" + std::string(200, 's')}).status()));
}

TEST_CASE("a daemon that accepts and never answers costs no more than the deadline") {
  const Folder folder;
  auto channel = DaemonChannel::get({.socket = folder.socket(), .auto_start = true});
  REQUIRE(channel.ok());
  CHECK_FALSE((*channel)->daemon_is_running().value());
  REQUIRE((*channel)->start_daemon(later()).ok());
  CHECK((*channel)->daemon_is_running().value());
  const absl::Status prepared = (*channel)->prepare({}, Clock::now() + std::chrono::milliseconds(400)).status();
  CHECK(absl::IsDeadlineExceeded(prepared));
  CHECK(absl::IsDeadlineExceeded((*channel)->stats(std::chrono::milliseconds(200)).status()));
  REQUIRE(hearth::test::eventually([&] { return folder.starts().size() == 1; }));
  CHECK(kill(folder.starts()[0], 0) == 0);
}
