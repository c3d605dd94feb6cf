// What a process uses, from /proc: resident memory and processor time. Stateless, thread-safe; 0 when the process is
// gone or /proc cannot be read. Example:  if (resident_bytes(pid) > limit) ::kill(pid, SIGKILL);
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace hearth::daemon {

std::uint64_t resident_bytes(pid_t pid);

// User and system time in clock ticks; grows whenever the process computes.
std::uint64_t processor_ticks(pid_t pid);

// True when a thread of it computes, waits for a processor or for the disk: a machine that is too busy is no hang.
bool is_runnable(pid_t pid);

}  // namespace hearth::daemon
