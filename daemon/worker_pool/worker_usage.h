// What a process uses, from /proc: resident memory and processor time. Stateless, thread-safe; 0 when the process is
// gone or /proc cannot be read. Example:  if (resident_bytes(pid) > limit) ::kill(pid, SIGKILL);
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace hearth::daemon {

std::uint64_t resident_bytes(pid_t pid);

// User and system time in clock ticks; grows whenever the process computes.
std::uint64_t processor_ticks(pid_t pid);

// True when a thread of it computes, waits for a processor or for the disk: a machine that is too busy is no hang.
bool is_runnable(pid_t pid);

// Its threads.
std::uint64_t num_tasks(pid_t pid);

// What files hold that these processes have open or mapped and that have no name, so that no folder shows them: memory
// files, removed files. Each counts once.
std::uint64_t nameless_bytes(const std::vector<pid_t>& pids);

// 0 when it is gone.
pid_t parent_of(pid_t pid);

// Children, their children and so on, without zombies; of a process that adopts its orphans (PR_SET_CHILD_SUBREAPER)
// nothing it started is missing.
std::vector<pid_t> descendants_of(pid_t pid);

// Kills all of them, also those that are started meanwhile; `pid` itself lives.
void kill_descendants(pid_t pid);

// One process and no other: a number comes back when its process is gone, with a later start.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};
std::optional<ProcessId> identify(pid_t pid);
bool is_running(const ProcessId& process);

// Kills those that still are who they were and what descends from them, and waits until they are gone.
void kill_processes(const std::vector<ProcessId>& processes);

}  // namespace hearth::daemon
