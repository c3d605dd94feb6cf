#include "daemon/worker/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace hearth::daemon {
namespace {

SandboxState g_state;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizer = true;  // reserves terabytes of address space and traces itself for leaks
#else
constexpr bool kSanitizer = false;
#endif

// Address space is not memory: LLVM and the C library reserve more than they touch. The daemon watches real use.
constexpr std::uint64_t kAddressHeadRoomBytes = 2ull << 30;

void set_limit(int resource, std::uint64_t value) {
  rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

#if defined(__x86_64__)
constexpr std::uint32_t kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kAuditArch = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kAuditArch = 0;
#endif

// Denied calls fail with EPERM, everything else passes: the compiler's own needs may change with LLVM.
bool filter_syscalls(bool programs) {
  if (kAuditArch == 0) return false;
  static constexpr int kDenied[] = {SYS_socket,
                                    SYS_socketpair,
                                    SYS_connect,
                                    SYS_bind,
                                    SYS_listen,
                                    SYS_accept4,
                                    SYS_ptrace,
                                    SYS_execve,
                                    SYS_execveat,
                                    SYS_mount,
                                    SYS_umount2,
                                    SYS_pivot_root,
                                    SYS_process_vm_readv,
                                    SYS_process_vm_writev,
                                    SYS_init_module,
                                    SYS_finit_module,
                                    SYS_bpf,
                                    SYS_keyctl,
                                    SYS_perf_event_open,
                                    SYS_unshare,
                                    SYS_setns,
                                    SYS_kexec_load,
                                    SYS_reboot,
                                    SYS_io_uring_setup,
                                    SYS_userfaultfd,
                                    SYS_pidfd_getfd};
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kAuditArch, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  constexpr std::uint32_t kX32Bit = 0x40000000;  // the same calls under other numbers
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
#endif
  for (int number : kDenied) {
    if (programs && (number == SYS_execve || number == SYS_execveat)) continue;
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Denies writing, creating and removing anywhere but in `folder`. Reading stays free: shared libraries, /proc.
bool confine_writes(const char* folder) {
  const std::uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                               LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                               LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                               LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = writes;
  const long rules = ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
  if (rules < 0) return false;
  bool confined = false;
  const int place = ::open(folder, O_PATH | O_CLOEXEC | O_DIRECTORY);
  if (place >= 0) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = writes;
    rule.parent_fd = place;
    confined = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    ::close(place);
  }
  // Programs expect to be able to throw output away.
  if (const int null = confined ? ::open("/dev/null", O_PATH | O_CLOEXEC) : -1; null >= 0) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE;
    rule.parent_fd = null;
    ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    ::close(null);
  }
  confined = confined && ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  ::close(static_cast<int>(rules));
  return confined;
}

}  // namespace

bool enter_sandbox(const SandboxLimits& limits) {
  // Programs that lost their parent become this process's children, so that it can find and end them.
  if (limits.programs) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!limits.programs) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (limits.parent > 0 && ::getppid() != limits.parent) return false;
  set_limit(RLIMIT_CORE, 0);
  if (limits.output_bytes > 0) set_limit(RLIMIT_FSIZE, limits.output_bytes);
  if (limits.memory_bytes > 0 && !kSanitizer) set_limit(RLIMIT_AS, limits.memory_bytes + kAddressHeadRoomBytes);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (const char* folder = std::getenv("TMPDIR")) g_state.writes_confined = confine_writes(folder);
  g_state.syscalls_filtered = filter_syscalls(limits.programs);
  return true;
}

SandboxState sandbox_state() { return g_state; }

}  // namespace hearth::daemon
