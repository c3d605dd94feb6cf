#include "daemon/exit_deadline.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

// How a process ends that has `time` to end, and hangs or does not; 1000 when it was killed.
int exit_code(std::chrono::milliseconds time, bool hangs) {
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const ExitDeadline deadline(time);
      if (hangs) ::pause();
    }
    ::_exit(42);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

TEST_CASE("exit deadline: a process that hangs at its end exits all the same, one that does not is left alone") {
  CHECK(exit_code(20ms, true) == 1);
  CHECK(exit_code(1h, false) == 42);
}

}  // namespace
}  // namespace hearth::daemon
