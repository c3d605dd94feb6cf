// Signals to, debugging of and changing other processes; starting new ones.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/fault/sandbox/attempts.h"

namespace hearth::sandbox_test {
namespace {

std::string queue_signal(const Targets& t) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  return told(::syscall(SYS_rt_sigqueueinfo, t.number("pid"), SIGKILL, &info) == 0);
}

std::string pidfd_signal(const Targets& t) {
  const long fd = ::syscall(SYS_pidfd_open, t.number("pid"), 0);
  return told(fd >= 0 && ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0);
}

// A descriptor whose owner is told of input by a signal of choice.
std::string signal_of_a_descriptor(const Targets& t) {
  int ends[2];
  if (::pipe(ends) != 0) return told(false);
  const bool set = ::fcntl(ends[0], F_SETOWN, t.number("pid")) == 0 && ::fcntl(ends[0], F_SETSIG, SIGKILL) == 0 &&
                   ::fcntl(ends[0], F_SETFL, O_ASYNC) == 0;
  return told(set && ::write(ends[1], "x", 1) == 1);
}

// All processes of the user but its own: signal 0 asks whether it could.
std::string signal_everybody(const Targets&) { return told(::kill(-1, 0) == 0); }

std::string attach(const Targets& t) { return told(::ptrace(PTRACE_SEIZE, t.number("pid"), nullptr, nullptr) == 0); }

std::string copy_memory(const Targets& t, bool write) {
  char bytes[16] = {};
  iovec local{bytes, sizeof(bytes)};
  iovec remote{reinterpret_cast<void*>(std::strtoull(t["address"].c_str(), nullptr, 16)), sizeof(bytes)};
  const ssize_t moved = write ? ::process_vm_writev(t.number("pid"), &local, 1, &remote, 1, 0)
                              : ::process_vm_readv(t.number("pid"), &local, 1, &remote, 1, 0);
  return told(moved > 0);
}

std::string steal_descriptor(const Targets& t) {
  const long fd = ::syscall(SYS_pidfd_open, t.number("pid"), 0);
  return told(fd >= 0 && ::syscall(SYS_pidfd_getfd, fd, 0, 0) >= 0);
}

std::string limit_other(const Targets& t) {
  const rlimit none{3, 3};
  return told(::prlimit(t.number("pid"), RLIMIT_NOFILE, &none, nullptr) == 0);
}

std::string bind_other(const Targets& t) {
  cpu_set_t all;
  CPU_ZERO(&all);
  CPU_SET(t.number("processor"), &all);
  return told(::sched_setaffinity(t.number("pid"), sizeof(all), &all) == 0);
}

std::string fork_child(const Targets&) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return told(child > 0);
}

// Replaces the worker, whose exit code tells.
std::string run_program(const char* path) {
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 42"), nullptr};
  char* const environment[] = {nullptr};
  ::execve(path, arguments, environment);
  return told(false);
}

bool copy_program(int fd) {
  std::ifstream shell("/bin/sh", std::ios::binary);
  std::stringstream bytes;
  bytes << shell.rdbuf();
  const std::string text = bytes.str();
  if (text.empty()) errno = ENOENT;
  return !text.empty() && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string run_memory_file(const Targets&) {
  const int fd = ::memfd_create("program", 0);
  if (fd < 0 || !copy_program(fd)) return told(false);
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 42"), nullptr};
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH);
  const int error = errno;
  run_program(("/proc/self/fd/" + std::to_string(fd)).c_str());
  errno = error;
  return told(false);
}

std::string run_own_file(const Targets&) {
  const std::string path = std::string(std::getenv("TMPDIR")) + "/program";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  if (fd < 0 || !copy_program(fd)) return told(false);
  ::close(fd);
  return run_program(path.c_str());
}

}  // namespace

const AttemptTable& attempts_on_processes() {
  static const AttemptTable table = {
      {"kill", [](const Targets& t) { return told(::kill(t.number("pid"), SIGKILL) == 0); }},
      {"kill the group", [](const Targets& t) { return told(::kill(-t.number("pid"), SIGKILL) == 0); }},
      {"stop", [](const Targets& t) { return told(::kill(t.number("pid"), SIGSTOP) == 0); }},
      {"tgkill",
       [](const Targets& t) { return told(::syscall(SYS_tgkill, t.number("pid"), t.number("pid"), SIGKILL) == 0); }},
      {"tkill", [](const Targets& t) { return told(::syscall(SYS_tkill, t.number("pid"), SIGKILL) == 0); }},
      {"signal everybody", signal_everybody},
      {"queue a signal", queue_signal},
      {"signal by pidfd", pidfd_signal},
      {"signal by a descriptor", signal_of_a_descriptor},
      {"ptrace", attach},
      {"process_vm_readv", [](const Targets& t) { return copy_memory(t, false); }},
      {"process_vm_writev", [](const Targets& t) { return copy_memory(t, true); }},
      {"pidfd_getfd", steal_descriptor},
      {"prlimit of another", limit_other},
      {"sched_setaffinity of another", bind_other},
      {"setpriority of another",
       [](const Targets& t) { return told(::setpriority(PRIO_PROCESS, static_cast<id_t>(t.number("pid")), 19) == 0); }},
      {"fork", fork_child},
      {"execve", [](const Targets&) { return run_program("/bin/sh"); }},
      {"run a memory file", run_memory_file},
      {"run a written file", run_own_file},
  };
  return table;
}

}  // namespace hearth::sandbox_test
