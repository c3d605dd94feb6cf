#include "daemon/worker_pool/worker_usage.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace hearth::daemon {
namespace {

class Sleeper {
 public:
  explicit Sleeper(const std::string& variable = "X=1") {
    char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("600"), nullptr};
    char* const environment[] = {const_cast<char*>(variable.c_str()), nullptr};
    REQUIRE(::posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, arguments, environment) == 0);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool is_alive() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = -1;
};

TEST_CASE("worker usage: only the very process that was meant is killed") {
  Sleeper meant, stranger;
  const auto one = identify(meant.pid()), other = identify(stranger.pid());
  REQUIRE((one && other));
  CHECK(is_running(*one));
  ProcessId before = *other;  // of a process that had this number before
  --before.start_ticks;
  CHECK_FALSE(is_running(before));
  kill_processes({*one, before, {1 << 22, 1}});
  CHECK_FALSE(is_running(*one));
  CHECK(stranger.is_alive());
}

TEST_CASE("worker usage: files without names are counted once, files with names are not") {
  const int fd = ::memfd_create("x", MFD_CLOEXEC), copy = ::dup(fd);
  const std::uint64_t before = nameless_bytes({::getpid()});
  const std::string block(1 << 20, 'x');
  REQUIRE(::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
  const std::uint64_t after = nameless_bytes({::getpid()});
  CHECK(nameless_bytes({::getpid(), ::getpid()}) == after);  // what two have is one file
  CHECK(after - before >= block.size());
  CHECK(after - before < 2 * block.size());
  ::close(fd), ::close(copy);
}

TEST_CASE("worker usage: threads and parents are told") {
  const Sleeper child;
  CHECK(num_tasks(child.pid()) == 1);
  CHECK(parent_of(child.pid()) == ::getpid());
  CHECK(num_tasks(1 << 22) == 0);
  CHECK_FALSE(identify(1 << 22));
}

}  // namespace
}  // namespace hearth::daemon
