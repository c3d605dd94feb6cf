#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "daemon/listener.h"
#include "daemon/worker_usage.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

using test::kSanitizer;

// One hearthd process with its stderr in a file.
class Process {
 public:
  Process(const TestFolder& folder, const std::vector<std::string>& arguments) {
    static int count = 0;
    log_ = folder / ("log" + std::to_string(count++));
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    ready_ = ready[0];
    std::vector<std::string> all = {program("hearthd"), "--worker", program("hearth-fake-worker"), "--ready-fd", "9"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ready[1], 9);
      ::dup2(::open(log_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 2);
      std::vector<char*> pointers;
      for (std::string& text : all) pointers.push_back(text.data());
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(ready[1]);
  }
  ~Process() {
    ::close(ready_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  // True once it serves, false when it ends first.
  bool ready() {
    char byte = 0;
    pollfd entry{ready_, POLLIN, 0};
    return ::poll(&entry, 1, 30'000) == 1 && ::read(ready_, &byte, 1) == 1 && byte == '1';
  }
  // The exit code; -signal when killed; -1000 when it does not end.
  int wait(std::chrono::milliseconds timeout = 30s) {
    const Clock::time_point give_up = Clock::now() + timeout;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) != pid_) {
      if (Clock::now() > give_up) return -1000;
      std::this_thread::sleep_for(2ms);
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void send(int signal) { ::kill(pid_, signal); }
  pid_t pid() const { return pid_; }
  std::string log() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  pid_t pid_ = -1;
  int ready_ = -1;
  std::string log_;
};

struct Place {
  TestFolder folder;
  std::string socket = folder / "run/s.sock";
  std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"--socket", socket, "--cache-dir", folder / "cache", "--workers", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

std::vector<pid_t> wait_for_worker(pid_t daemon) {
  const Clock::time_point give_up = Clock::now() + 20s;
  std::vector<pid_t> children;
  while ((children = children_of(daemon)).empty() && Clock::now() < give_up) std::this_thread::sleep_for(2ms);
  return children;
}

bool gone(pid_t pid) {
  const Clock::time_point give_up = Clock::now() + 5s;
  while (::kill(pid, 0) == 0 && Clock::now() < give_up) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.find(") Z ") != std::string::npos) return true;  // dead; its new parent has not reaped it
    std::this_thread::sleep_for(5ms);
  }
  return ::kill(pid, 0) != 0;
}

TEST_CASE("hearthd: serves soon, small, private; SIGTERM drains and leaves nothing") {
  Place place;
  const Clock::time_point begin = Clock::now();
  Process daemon(place.folder, place.arguments());
  REQUIRE(daemon.ready());
  const auto took_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  CHECK(is_served(place.socket));
  struct stat info;
  REQUIRE(::stat(place.socket.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat((place.folder / "run").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  const std::vector<pid_t> workers = wait_for_worker(daemon.pid());
  REQUIRE(workers.size() == 1);  // one ahead of need, not all
  const double rss_mib = static_cast<double>(resident_bytes(daemon.pid())) / (1 << 20);
  WARN("hearthd: serving after " << took_ms << " ms, " << rss_mib << " MiB resident");
  if (!kSanitizer) CHECK(rss_mib < 100);
  daemon.send(SIGTERM);
  CHECK(daemon.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(place.socket));
  CHECK(gone(workers[0]));
}

TEST_CASE("hearthd: after kill -9 its workers die and a new daemon takes the socket over") {
  Place place;
  Process first(place.folder, place.arguments());
  REQUIRE(first.ready());
  const std::vector<pid_t> workers = wait_for_worker(first.pid());
  REQUIRE_FALSE(workers.empty());
  first.send(SIGKILL);
  CHECK(first.wait() == -SIGKILL);
  CHECK(gone(workers[0]));
  CHECK(std::filesystem::exists(place.socket));
  Process second(place.folder, place.arguments());
  CHECK(second.ready());
  CHECK(is_served(place.socket));
}

TEST_CASE("hearthd: a second daemon on a socket or a cache folder refuses clearly") {
  Place place;
  Process first(place.folder, place.arguments());
  REQUIRE(first.ready());
  Process second(place.folder, place.arguments());
  CHECK(second.wait() == 3);
  CHECK(second.log().find("(pid " + std::to_string(first.pid()) + ") already serves '" + place.socket) !=
        std::string::npos);
  Process other_socket(place.folder,
                       {"--socket", place.folder / "run/other.sock", "--cache-dir", place.folder / "cache"});
  CHECK(other_socket.wait() == 1);
  CHECK(other_socket.log().find(std::to_string(first.pid())) != std::string::npos);
  CHECK(is_served(place.socket));
}

TEST_CASE("hearthd: of many started at once exactly one serves") {
  Place place;
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < 12; ++i) all.push_back(std::make_unique<Process>(place.folder, place.arguments()));
  int serving = 0;
  for (auto& process : all) serving += process->ready();
  CHECK(serving == 1);
  int refused = 0;
  for (auto& process : all) refused += process->wait(serving == 1 ? 1s : 0s) == 3;
  CHECK(refused == 11);
}

TEST_CASE("hearthd: leaves when idle, and a successor may start while it leaves") {
  Place place;
  Process daemon(place.folder, place.arguments({"--idle-exit", "0.3"}));
  REQUIRE(daemon.ready());
  CHECK(daemon.wait(20s) == 0);
  CHECK(daemon.log().find("leaving: idle") != std::string::npos);
  for (int i = 0; i < 5; ++i) {
    Process leaving(place.folder, place.arguments());
    REQUIRE(leaving.ready());
    leaving.send(SIGTERM);
    Process successor(place.folder, place.arguments());
    CHECK((successor.ready() || successor.wait() == 3));
    CHECK(leaving.wait() == 0);
  }
}

TEST_CASE("hearthd: bad settings are one line and a non-zero exit") {
  Place place;
  const std::string file = place.folder / "hearth.toml";
  std::ofstream(file) << "workers = 2\nthis is = = not toml\n";
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string says;
  };
  std::ofstream(place.folder / "file") << "x";
  const std::vector<Case> cases = {
      {place.arguments({"--config", file}), 2, file + ":2: "},
      {{"--socket", "/" + std::string(150, 'x'), "--cache-dir", place.folder / "c"}, 2, "the system allows 107"},
      {{"--socket", place.folder / "file/s.sock", "--cache-dir", place.folder / "c"}, 1, "is not a folder"},
      {{"--socket", place.folder / "file", "--cache-dir", place.folder / "c"}, 1, "is no socket"},
      {{"--socket", place.socket, "--cache-dir", place.folder / "file"}, 1, place.folder / "file"},
      {{"--socket", place.socket, "--cache-dir", "/proc/none/cache"}, 1, "/proc/none"},
      {place.arguments({"--log", "/proc/nowhere/log"}), 2, "log file"},
      {place.arguments({"--workers", "-3"}), 2, "--workers"},
  };
  for (const Case& one : cases) {
    Process daemon(place.folder, one.arguments);
    CHECK_FALSE(daemon.ready());
    const int code = daemon.wait();
    const std::string log = daemon.log();
    INFO(log);
    CHECK(code == one.code);
    CHECK(log.find(one.says) != std::string::npos);
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace hearth::daemon
