#include "base/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace hearth {
namespace {

int g_first_error = 0;         // of print()
bool g_sigpipe_kills = false;  // before any library changed it

// Opened the wrong way round: reading 0, writing 1 and 2 fail as they do with a closed descriptor.
void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) return;  // no /dev: nothing else will help either
  }
}

void end_by_sigpipe() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &action, nullptr);
  sigset_t unblocked;
  ::sigemptyset(&unblocked);
  ::sigaddset(&unblocked, SIGPIPE);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  ::raise(SIGPIPE);
}

// errno of the first failure; 0 when everything was written.
int close_standard_output() {
  errno = 0;
  std::cout.flush();
  bool failed = !std::cout || std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) failed = true;
  if (failed) return g_first_error != 0 ? g_first_error : errno != 0 ? errno : EIO;
  // Nothing was printed to a closed standard output, or it was closed by the body: no error.
  if (std::fclose(stdout) != 0 && errno != EBADF) return errno;
  return 0;
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  if (g_first_error == 0) g_first_error = errno;
  if (g_first_error == EPIPE && g_sigpipe_kills) end_by_sigpipe();
}

int run_program(const char* name, const std::function<int()>& body) {
  occupy_standard_descriptors();
  struct sigaction at_start{};
  g_sigpipe_kills = ::sigaction(SIGPIPE, nullptr, &at_start) == 0 && at_start.sa_handler == SIG_DFL;
  const int exit_code = body();
  const int error = close_standard_output();
  if (error == 0) return exit_code;
  if (error == EPIPE && g_sigpipe_kills) end_by_sigpipe();
  std::fprintf(stderr, "%s: cannot write to standard output: %s\n", name, std::strerror(error));
  return exit_code != 0 ? exit_code : 1;
}

}  // namespace hearth
