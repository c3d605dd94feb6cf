// Namespaces, mounts, rarely used parts of the kernel, undoing the sandbox.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/fault/sandbox/attempts.h"

namespace hearth::sandbox_test {
namespace {

std::string clone_namespaces(const Targets&) {
  const long child = ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return told(child > 0);
}

// As clone_args of linux/sched.h.
std::string clone3_process(const Targets&) {
  std::uint64_t arguments[11] = {};
  arguments[4] = SIGCHLD;
  const long child = ::syscall(SYS_clone3, arguments, sizeof(arguments));
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return told(child > 0);
}

std::string mount_over_cache(const Targets& t) {
  return told(::mount("tmpfs", t["cache"].c_str(), "tmpfs", 0, nullptr) == 0);
}

std::string new_mount_api(const Targets& t) {
  const long context = ::syscall(SYS_fsopen, "tmpfs", 0);
  if (context < 0 || ::syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, nullptr, nullptr, 0) != 0)
    return told(false);
  const long mounted = ::syscall(SYS_fsmount, context, 0, 0);
  return told(mounted >= 0 && ::syscall(SYS_move_mount, mounted, "", AT_FDCWD, t["cache"].c_str(), 4) == 0);
}

std::string enter_namespace(const Targets& t) {
  const int fd = ::open(("/proc/" + t["pid"] + "/ns/net").c_str(), O_RDONLY);
  return told(fd >= 0 && ::setns(fd, 0) == 0);
}

std::string load_program(const Targets&) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = attributes.value_size = 4;
  attributes.max_entries = 1;
  return told(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)) >= 0);
}

std::string count_events(const Targets&) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof(attributes);
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.exclude_kernel = 1;
  return told(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0);
}

std::string set_up_io_uring(const Targets&) {
  std::uint32_t parameters[30] = {};
  return told(::syscall(SYS_io_uring_setup, 4, parameters) >= 0);
}

std::string raise_limit(const Targets&) {
  const rlimit low{64, 64}, high{65, 65};
  return told(::setrlimit(RLIMIT_NOFILE, &low) == 0 && ::setrlimit(RLIMIT_NOFILE, &high) == 0);
}

std::string make_memory_executable(const Targets&) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return told(false);
  *static_cast<volatile char*>(memory) = 0;
  return told(::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0);
}

// Its pages are in nobody's count once they are dropped, and there all the same.
std::string share_nobodys_memory(const Targets&) {
  return told(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

std::string share_zeros(const Targets&) {
  const int fd = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  return told(fd >= 0 && ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
}

std::string run_written_memory(const Targets&) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return told(memory != MAP_FAILED);
}

// The system calls of 32-bit programs have other numbers: 20 is getpid.
std::string call_as_32_bit_program(const Targets&) {
#if defined(__x86_64__)
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  errno = result < 0 ? static_cast<int>(-result) : 0;
  return told(result > 0);
#else
  errno = ENOSYS;
  return told(false);
#endif
}

}  // namespace

const AttemptTable& attempts_on_kernel() {
  static const AttemptTable table = {
      {"unshare a user namespace", [](const Targets&) { return told(::unshare(CLONE_NEWUSER) == 0); }},
      {"clone into namespaces", clone_namespaces},
      {"clone3", clone3_process},
      {"mount", mount_over_cache},
      {"fsopen and move_mount", new_mount_api},
      {"setns", enter_namespace},
      {"chroot", [](const Targets&) { return told(::chroot("/proc") == 0); }},
      {"bpf", load_program},
      {"userfaultfd", [](const Targets&) { return told(::syscall(SYS_userfaultfd, 1 /* user mode only */) >= 0); }},
      {"perf_event_open", count_events},
      {"io_uring", set_up_io_uring},
      {"keyctl",
       [](const Targets&) {
         return told(::syscall(SYS_add_key, "user", "evil", "x", 1, KEY_SPEC_PROCESS_KEYRING) >= 0);
       }},
      {"prctl to be traced",
       [](const Targets&) {
         return told(::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) == 0 || ::prctl(PR_SET_DUMPABLE, 1) == 0);
       }},
      {"outlive the parent", [](const Targets&) { return told(::prctl(PR_SET_PDEATHSIG, 0) == 0); }},
      {"personality", [](const Targets&) { return told(::personality(READ_IMPLIES_EXEC) != -1); }},
      {"raise a limit", raise_limit},
      {"run written memory", run_written_memory},
      {"make written memory executable", make_memory_executable},
      {"share nobody's memory", share_nobodys_memory},
      {"share zeros", share_zeros},
      {"32-bit system calls", call_as_32_bit_program},
  };
  return table;
}

}  // namespace hearth::sandbox_test
