// A hijacked worker against a daemon, its cache and its user: every attempt is denied by the whole sandbox, and by each
// layer alone that is said to deny it; without any layer it does its harm, so that no row is green for another reason.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/fault/sandbox/hijack.h"
#include "tests/support/skip.h"

namespace hearth::sandbox_test {
namespace {

enum class Harm {
  kChange,  // of the victim, seen from outside
  kAnswer,  // the worker got what it asked for: secrets, parts of the kernel
};

struct Row {
  const char* attempt;
  Harm harm;
  // What denies it alone, with "+" what does together; "landlock:3": from that version on. Empty: it is allowed there.
  const char* compiler;  // of a compiler worker
  const char* programs;  // of a worker that may start programs
  int capability = -1;   // what it takes without a sandbox; -1: nothing
};

constexpr Harm kChange = Harm::kChange, kAnswer = Harm::kAnswer;

const Row kRows[] = {
    {"write", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"write and read", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"append", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"create", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"truncate", kChange, "seccomp landlock:3 mount_ns", "seccomp landlock:3 mount_ns"},
    {"truncate by opening to read", kChange, "seccomp landlock:3 mount_ns", "seccomp landlock:3 mount_ns"},
    {"truncate by opening for nothing", kChange, "seccomp landlock:3 mount_ns", "seccomp landlock:3 mount_ns"},
    {"truncate by openat2", kChange, "seccomp landlock:3 mount_ns", "seccomp landlock:3 mount_ns"},
    {"chmod", kChange, "seccomp mount_ns", "seccomp mount_ns"},
    {"chmod of the folder", kChange, "seccomp mount_ns", "seccomp mount_ns"},
    {"fchmod", kChange, "seccomp landlock mount_ns", "seccomp landlock mount_ns"},
    {"chown", kChange, "seccomp mount_ns user_ns limits", "seccomp mount_ns user_ns limits", CAP_CHOWN},
    {"utimes", kChange, "seccomp mount_ns", "seccomp mount_ns"},
    {"setxattr", kChange, "seccomp mount_ns", "seccomp mount_ns"},
    {"unlink", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"rename over", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"mkdir", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"mkfifo", kChange, "seccomp landlock mount_ns", "seccomp landlock mount_ns"},
    {"symlink in the cache", kChange, "seccomp landlock mount_ns", "landlock mount_ns"},
    {"hardlink into the own folder", kChange, "seccomp landlock mount_ns", "seccomp landlock mount_ns"},
    {"output by ../", kChange, "landlock mount_ns", "landlock mount_ns"},
    {"output through an own link", kChange, "seccomp landlock mount_ns", "landlock mount_ns"},
    {"write through the daemon's root", kChange, "landlock user_ns mount_ns+pid_ns",
     "landlock user_ns mount_ns+pid_ns"},
    {"read the cache", kAnswer, "landlock mount_ns", "landlock mount_ns"},
    {"list the cache", kAnswer, "landlock mount_ns", "landlock mount_ns"},
    {"read a secret in the home folder", kAnswer, "landlock mount_ns", "landlock mount_ns"},
    {"list the home folder", kAnswer, "landlock mount_ns", "landlock mount_ns"},
    {"read the daemon's environment", kAnswer, "landlock user_ns mount_ns+pid_ns",
     "landlock+limits user_ns mount_ns+pid_ns"},
    {"read the daemon's memory map", kAnswer, "landlock user_ns mount_ns+pid_ns",
     "landlock+limits user_ns mount_ns+pid_ns"},
    {"read the daemon's command line", kAnswer, "landlock mount_ns+pid_ns", "mount_ns+pid_ns"},
    {"open the daemon's memory", kAnswer, "landlock user_ns mount_ns+pid_ns", "landlock user_ns mount_ns+pid_ns"},
    {"follow the daemon's descriptors", kAnswer, "landlock user_ns mount_ns+pid_ns",
     "landlock user_ns mount_ns+pid_ns"},

    {"kill", kChange, "seccomp landlock:6 pid_ns", "landlock:6 pid_ns"},
    {"kill the group", kChange, "seccomp landlock:6 pid_ns", "landlock:6 pid_ns"},
    {"stop", kChange, "seccomp landlock:6 pid_ns", "landlock:6 pid_ns"},
    {"tgkill", kChange, "seccomp landlock:6 pid_ns", "landlock:6 pid_ns"},
    {"tkill", kChange, "seccomp landlock:6 pid_ns", "landlock:6 pid_ns"},
    {"signal everybody", kAnswer, "seccomp pid_ns", "pid_ns"},
    {"queue a signal", kChange, "seccomp landlock:6 pid_ns", "seccomp landlock:6 pid_ns"},
    {"signal by pidfd", kChange, "seccomp landlock:6 pid_ns", "seccomp landlock:6 pid_ns"},
    {"signal by a descriptor", kChange, "seccomp landlock:6 pid_ns", "seccomp landlock:6 pid_ns"},
    {"ptrace", kAnswer, "seccomp landlock user_ns pid_ns", "seccomp landlock user_ns pid_ns"},
    {"process_vm_readv", kAnswer, "seccomp landlock user_ns pid_ns", "seccomp landlock user_ns pid_ns"},
    {"process_vm_writev", kAnswer, "seccomp landlock user_ns pid_ns", "seccomp landlock user_ns pid_ns"},
    {"pidfd_getfd", kAnswer, "seccomp landlock user_ns pid_ns", "seccomp landlock user_ns pid_ns"},
    {"prlimit of another", kChange, "seccomp pid_ns", "seccomp pid_ns"},
    {"sched_setaffinity of another", kChange, "seccomp pid_ns", "seccomp pid_ns"},
    {"setpriority of another", kChange, "seccomp pid_ns", "seccomp pid_ns"},
    {"fork", kAnswer, "seccomp", ""},
    {"execve", kAnswer, "seccomp landlock mount_ns", ""},
    {"run a memory file", kAnswer, "seccomp", "seccomp"},
    {"run a written file", kAnswer, "seccomp landlock mount_ns", "landlock mount_ns"},

    {"connect by TCP", kChange, "seccomp landlock:4 network_ns", "seccomp landlock:4 network_ns"},
    {"send by UDP", kChange, "seccomp network_ns", "seccomp network_ns"},
    {"listen on TCP", kAnswer, "seccomp landlock:4", "seccomp landlock:4"},
    {"connect to the daemon's socket", kChange, "seccomp mount_ns", "seccomp mount_ns"},
    {"connect to an abstract socket", kChange, "seccomp landlock:6 network_ns", "seccomp landlock:6 network_ns"},
    {"netlink", kAnswer, "seccomp", "seccomp"},
    {"shared memory of others", kAnswer, "seccomp ipc_ns", "seccomp ipc_ns"},
    {"message queue of others", kAnswer, "seccomp ipc_ns", "seccomp ipc_ns"},

    {"unshare a user namespace", kAnswer, "seccomp", "seccomp"},
    {"clone into namespaces", kAnswer, "seccomp", "seccomp"},
    {"clone3", kAnswer, "seccomp", "seccomp"},
    {"mount", kChange, "seccomp limits user_ns mount_ns", "seccomp limits user_ns mount_ns", CAP_SYS_ADMIN},
    {"fsopen and move_mount", kChange, "seccomp limits user_ns mount_ns", "seccomp limits user_ns mount_ns",
     CAP_SYS_ADMIN},
    {"setns", kAnswer, "seccomp limits user_ns landlock", "seccomp limits user_ns landlock", CAP_SYS_ADMIN},
    {"chroot", kAnswer, "seccomp limits", "seccomp limits", CAP_SYS_CHROOT},
    {"bpf", kAnswer, "seccomp limits user_ns", "seccomp limits user_ns", CAP_BPF},
    {"userfaultfd", kAnswer, "seccomp", "seccomp"},
    {"perf_event_open", kAnswer, "seccomp", "seccomp"},
    {"io_uring", kAnswer, "seccomp", "seccomp"},
    {"keyctl", kAnswer, "seccomp", "seccomp"},
    {"prctl to be traced", kAnswer, "seccomp", "seccomp"},
    {"outlive the parent", kAnswer, "seccomp", ""},
    {"personality", kAnswer, "seccomp", "seccomp"},
    {"raise a limit", kAnswer, "seccomp limits user_ns", "limits user_ns", CAP_SYS_RESOURCE},
    {"run written memory", kAnswer, "seccomp", ""},
    {"make written memory executable", kAnswer, "seccomp", ""},
    {"share nobody's memory", kAnswer, "seccomp", "seccomp"},
    {"share zeros", kAnswer, "landlock mount_ns", "landlock mount_ns"},
    {"32-bit system calls", kAnswer, "seccomp", "seccomp"},
};

bool harmed(const Row& row, const Outcome& outcome) {
  return row.harm == Harm::kAnswer ? outcome.says_done : outcome.changed;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// "landlock:3" of this kernel; empty when it is too old for it.
std::set<std::string> layers_of(const std::string& claim) {
  std::set<std::string> layers;
  std::istringstream words(claim);
  for (std::string layer; std::getline(words, layer, '+');) {
    const std::size_t colon = layer.find(':');
    if (colon != std::string::npos && landlock_abi() < std::stoi(layer.substr(colon + 1))) return {};
    layers.insert(layer.substr(0, colon));
  }
  return layers;
}

const char* claims_of(const Row& row, bool programs) { return programs ? row.programs : row.compiler; }

bool has_capability(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[capability / 32].effective >> (capability % 32) & 1) != 0;
}

// Every attempt is denied.
void check_whole_sandbox(bool programs) {
  Hijack hijack({.on = std::nullopt, .programs = programs});
  for (const Row& row : kRows) {
    if (words_of(claims_of(row, programs)).empty()) continue;
    const Outcome outcome = hijack.attempt(row.attempt, row.harm == kChange);
    INFO(row.attempt << ": " << outcome.went);
    CHECK_FALSE(harmed(row, outcome));
  }
}

// Every attempt is denied by each layer alone that is said to.
void check_single_layers(bool programs) {
  std::map<std::string, std::vector<const Row*>> rows_of;
  for (const Row& row : kRows) {
    for (const std::string& claim : words_of(claims_of(row, programs))) rows_of[claim].push_back(&row);
  }
  for (const auto& [claim, rows] : rows_of) {
    const std::set<std::string> layers = layers_of(claim);
    Hijack hijack({.on = layers, .programs = programs});
    if (layers.empty() || !hijack.has_layers()) {
      test::skip_part("what " + claim + " denies alone: this machine does not have it");
      continue;
    }
    for (const Row* row : rows) {
      const Outcome outcome = hijack.attempt(row->attempt, row->harm == kChange);
      INFO("only " << claim << ", " << row->attempt << ": " << outcome.went);
      CHECK_FALSE(harmed(*row, outcome));
    }
  }
}

// Every attempt does its harm when nothing denies it, so that it is denied for no other reason.
void check_no_sandbox() {
  Hijack hijack({.on = std::set<std::string>(), .programs = false});
  for (const Row& row : kRows) {
    if (row.capability >= 0 && !has_capability(row.capability)) {
      test::skip_part(std::string(row.attempt) + ": this user could not do it without a sandbox either");
      continue;
    }
    const Outcome outcome = hijack.attempt(row.attempt, row.harm == kChange);
    if (!harmed(row, outcome) && outcome.went == "denied: Function not implemented") {
      test::skip_part(std::string(row.attempt) + ": this kernel does not have it");
      continue;
    }
    INFO("without any layer, " << row.attempt << ": " << outcome.went);
    CHECK(harmed(row, outcome));
  }
}

TEST_CASE("hijacked worker: a compiler worker can do no harm") { check_whole_sandbox(false); }

TEST_CASE("hijacked worker: a worker that starts compilers can do no harm") { check_whole_sandbox(true); }

TEST_CASE("hijacked worker: the cache and the home folder are empty inside, whatever else may be read") {
  const Conditions conditions{.on = std::set<std::string>{"mount_ns"}, .programs = false};
  Hijack hijack(conditions);
  if (!hijack.has_layers()) SKIP_CASE("this machine has no mount namespaces");
  for (const bool covered : {false, true}) {
    const Victim victim;
    const daemon::TestFolder folder;
    daemon::WorkerCommand command = hijacked_command(folder.path(), conditions);
    const std::string above = std::filesystem::path(victim.home()).parent_path();
    command.trees = {*daemon::identify_tree(above)};  // as if the daemon had allowed too much
    if (covered) command.secrets = {.cache = victim.cache(), .home = victim.home()};
    auto worker = daemon::WorkerProcess::spawn(command, -1);
    REQUIRE(worker.ok());
    for (const char* attempt : {"read the cache", "read a secret in the home folder"}) {
      const daemon::Exchange exchange = (*worker)->exchange(hijacked_request(attempt, victim.targets().text()), -1);
      REQUIRE(exchange.end == daemon::WorkerEnd::kReply);
      const std::string went = exchange.reply.compiled().artifact().data();
      INFO(attempt << ": " << went);
      CHECK((went.rfind("done", 0) == 0) == !covered);
    }
  }
}

TEST_CASE("hijacked worker: each layer alone denies what it is said to") {
  check_single_layers(false);
  check_single_layers(true);
}

TEST_CASE("hijacked worker: without a sandbox every attempt does its harm") { check_no_sandbox(); }

}  // namespace
}  // namespace hearth::sandbox_test
