#include "daemon/worker/syscall_filter.h"

#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "daemon/worker/syscall_lists.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// Adds rules until one fails; the first failure stays.
class Rules {
 public:
  Rules() : context_(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS))) {
    if (context_ == nullptr) error_ = ENOMEM;
    // The limits have set it, and a tree of comparisons is walked faster than a list of two hundred.
    check(::seccomp_attr_set(context_, SCMP_FLTATR_CTL_NNP, 0));
    check(::seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2));
    check(::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }
  ~Rules() { ::seccomp_release(context_); }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  // By name: one that this machine or library does not know cannot be made either.
  void all(std::uint32_t action, std::string_view names) {
    for (absl::string_view name : absl::StrSplit(absl::string_view(names.data(), names.size()), ' '))
      one(action, std::string(name).c_str(), {});
  }
  void one(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> arguments) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    check(
        ::seccomp_rule_add_array(context_, action, number, static_cast<unsigned>(arguments.size()), arguments.begin()));
  }
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> arguments) { one(SCMP_ACT_ALLOW, name, arguments); }
  // Where argument `index` is one of `values`.
  void allow_values(const char* name, unsigned index, std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) allow(name, {scmp_arg_cmp{index, SCMP_CMP_EQ, value, 0}});
  }
  int load() {
    check(error_ == 0 ? ::seccomp_load(context_) : 0);
    return error_;
  }

 private:
  void check(int result) {
    if (error_ == 0 && result < 0) error_ = -result;
  }

  scmp_filter_ctx context_;
  int error_ = 0;
};

constexpr scmp_arg_cmp bits(unsigned index, std::uint64_t mask, std::uint64_t value) {
  return {index, SCMP_CMP_MASKED_EQ, mask, value};
}

// O_TRUNC changes a file that is opened for reading only, and the access mode 3 is neither reading nor writing: those
// two are what Landlock does not see before its third version.
void allow_open(Rules& rules) {
  const std::pair<const char*, unsigned> kCalls[] = {{"open", 1}, {"openat", 2}};
  for (const auto& [name, flags] : kCalls) {
    rules.allow(name, {bits(flags, O_ACCMODE | O_TRUNC, O_RDONLY)});
    rules.allow(name, {bits(flags, O_ACCMODE, O_WRONLY)});
    rules.allow(name, {bits(flags, O_ACCMODE, O_RDWR)});
  }
}

// What may be done with descriptors: copies, flags and seals. Not their owner, who would get a signal of choice.
void allow_descriptors(Rules& rules) {
  rules.allow_values("fcntl", 1,
                     {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW,
                      F_ADD_SEALS, F_GET_SEALS, F_GETPIPE_SZ, F_SETPIPE_SZ});
  // Questions only; no terminal takes input from here.
  rules.allow_values("ioctl", 1, {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX, FIONBIO});
}

// Sockets that exist; no address, no descriptors in a message.
void allow_messages(Rules& rules) {
  rules.allow("sendto", {{4, SCMP_CMP_EQ, 0, 0}, {5, SCMP_CMP_EQ, 0, 0}});
  rules.allow("recvfrom", {{4, SCMP_CMP_EQ, 0, 0}});
}

// Itself only: as a compiler that gives up aborts.
void allow_own_signals(Rules& rules) {
  const auto self = static_cast<std::uint64_t>(::getpid());
  rules.allow("kill", {{0, SCMP_CMP_EQ, self, 0}});
  rules.allow("tgkill", {{0, SCMP_CMP_EQ, self, 0}});
}

// Memory that is nobody's (anonymous) and shared is in no process's count once its pages are dropped, though it is
// there: no mapping of it.
void allow_mapping(Rules& rules, std::initializer_list<scmp_arg_cmp> protections) {
  for (const scmp_arg_cmp& protection : protections) {
    rules.allow("mmap", {protection, bits(3, MAP_SHARED, 0)});
    rules.allow("mmap", {protection, bits(3, MAP_ANONYMOUS, 0)});
  }
}

// No mapping is writable and executable, and none becomes executable: code that is smuggled in has to be loaded from a
// file, be it one in memory.
void allow_memory(Rules& rules) {
  allow_mapping(rules, {bits(2, PROT_EXEC, 0), bits(2, PROT_EXEC | PROT_WRITE, PROT_EXEC)});
  rules.allow("mprotect", {bits(2, PROT_EXEC, 0)});
}

void allow_compiler(Rules& rules) {
  allow_own_signals(rules);
  allow_memory(rules);
  rules.allow("clone", {bits(0, CLONE_THREAD | CLONE_VM | kNewNamespaces, CLONE_THREAD | CLONE_VM)});
  rules.allow("prlimit64", {{0, SCMP_CMP_EQ, 0, 0}, {2, SCMP_CMP_EQ, 0, 0}});
  rules.one(SCMP_ACT_ALLOW, "memfd_create", {});
  rules.allow_values("prctl", 0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, kPrSetVma});
  rules.all(SCMP_ACT_ERRNO(EPERM), kChangesFiles);
  rules.all(SCMP_ACT_ERRNO(EPERM), kStartsPrograms);
}

void allow_programs(Rules& rules) {
  allow_mapping(rules, {bits(2, 0, 0)});
  rules.allow("clone", {bits(0, kNewNamespaces, 0)});
  rules.allow("prlimit64", {{0, SCMP_CMP_EQ, 0, 0}});
  rules.allow_values("prctl", 0,
                     {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, kPrSetVma, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG,
                      PR_SET_CHILD_SUBREAPER, PR_CAPBSET_READ});
  rules.all(SCMP_ACT_ALLOW, kOfPrograms);
  rules.all(SCMP_ACT_ERRNO(0), kChangesFiles);
  rules.all(SCMP_ACT_ERRNO(EPERM), kRunsMemory);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// They look for leaks as a debugger would, and live with being refused that.
constexpr std::uint32_t kDebugging = SCMP_ACT_ERRNO(EPERM);
#else
constexpr std::uint32_t kDebugging = SCMP_ACT_KILL_PROCESS;
#endif

}  // namespace

std::string filter_system_calls(const SyscallFilter& filter) {
  Rules rules;
  rules.all(SCMP_ACT_ALLOW, kOfEveryone);
  allow_open(rules);
  allow_descriptors(rules);
  allow_messages(rules);
  rules.allow("sched_setaffinity", {{0, SCMP_CMP_EQ, 0, 0}});
  filter.programs ? allow_programs(rules) : allow_compiler(rules);
  rules.all(SCMP_ACT_ERRNO(EPERM), kRefused);
  rules.all(SCMP_ACT_KILL_PROCESS, kAttacks);
  rules.one(kDebugging, "ptrace", {});
  const int error = rules.load();
  return error == 0 ? std::string() : std::strerror(error);
}

}  // namespace hearth::daemon
