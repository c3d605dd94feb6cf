// What a process uses, from /proc: resident memory and processor time. Stateless, thread-safe; 0 when the process is
// gone or /proc cannot be read. Example:  if (resident_bytes(pid) > limit) ::kill(pid, SIGKILL);
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::daemon {

std::uint64_t resident_bytes(pid_t pid);

// User and system time in clock ticks; grows whenever the process computes.
std::uint64_t processor_ticks(pid_t pid);

// True when a thread of it computes, waits for a processor or for the disk: a machine that is too busy is no hang.
bool is_runnable(pid_t pid);

// Children, their children and so on, without zombies; of a process that adopts its orphans (PR_SET_CHILD_SUBREAPER)
// nothing it started is missing.
std::vector<pid_t> descendants_of(pid_t pid);

// Kills all of them, also those that are started meanwhile; `pid` itself lives.
void kill_descendants(pid_t pid);

// Kills this user's processes that have `text` (a private folder's name) in their environment or command line, but this
// one: what a process that is gone has left behind.
void kill_processes_naming(const std::string& text);

}  // namespace hearth::daemon
