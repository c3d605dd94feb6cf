// The worker's cage. Graphs are untrusted, so a hijacked compiler must find little: it dies with the daemon, has
// memory, file-size and core limits, gains no privileges, opens no sockets, traces nobody, starts no programs (but see
// below) and writes only in its private temp folder (Landlock). What the kernel does not offer is left out and reported
// by the caller's log. Call once, before any thread and before reading input. Example:
//   if (!enter_sandbox({.parent = pid, .memory_bytes = 4ull << 30, .output_bytes = 1ull << 30})) return 3;
#pragma once
#include <cstdint>

namespace hearth::daemon {

struct SandboxLimits {
  int parent = 0;                  // the daemon's pid; 0: not checked
  std::uint64_t memory_bytes = 0;  // resident memory the daemon allows; address space gets head-room; 0: unlimited
  std::uint64_t output_bytes = 0;  // the largest file; 0: unlimited
  // It may start programs, which are in the same cage. It does not die with the daemon then, but must end them and
  // itself (guardian.h).
  bool programs = false;
};

// False when the parent is gone already.
bool enter_sandbox(const SandboxLimits& limits);

// For tests and logs: which of the optional walls stand.
struct SandboxState {
  bool syscalls_filtered = false;
  bool writes_confined = false;
};
SandboxState sandbox_state();

}  // namespace hearth::daemon
