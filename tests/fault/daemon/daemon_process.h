// The real hearthd as a process, with the fake compiler, and a place for its socket and cache.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {

using namespace std::chrono_literals;

// One hearthd process with its stderr in a file.
class Process {
 public:
  // `bin` has hearthd and hearth-fake-worker.
  Process(const TestFolder& folder, const std::vector<std::string>& arguments, const std::string& bin = program("")) {
    static int count = 0;
    log_ = folder / ("log" + std::to_string(count++));
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    ready_ = ready[0];
    std::vector<std::string> all = {bin + "/hearthd", "--worker", bin + "/hearth-fake-worker", "--ready-fd", "9"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(::fcntl(ready[1], F_DUPFD, 10), 9);  // not from 9 to 9, which would leave it to be closed
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
    return ::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(test::give_up()).count())) == 1 &&
           ::read(ready_, &byte, 1) == 1 && byte == '1';
  }
  // The exit code; -signal when killed; -1000 when it does not end.
  int wait() {
    int status = 0;
    if (!test::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1000;
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

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

inline std::vector<pid_t> wait_for_worker(pid_t daemon) {
  std::vector<pid_t> children;
  test::eventually([&] { return !(children = children_of(daemon)).empty(); });
  return children;
}

inline bool gone(pid_t pid) {
  return test::eventually([&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    return ::kill(pid, 0) != 0 || text.find(") Z ") != std::string::npos;  // dead; its new parent has not reaped it
  });
}

}  // namespace hearth::daemon
