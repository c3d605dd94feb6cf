// The worker's cage. Graphs and kernel sources are untrusted, so a hijacked compiler must find little: no other
// process, no network, no file but the system's libraries, no descriptor but its socket, few system calls, tight
// limits.
//
// enter_sandbox() takes the layers that the kernel offers and says which those are (docs/security.md has what each
// denies). It returns in a child of the calling process, which stays behind as the keeper (keeper.h) and ends like the
// worker. Call it once, before any thread and before reading input. nullopt: the daemon is gone already. Example:
//   const auto report = enter_sandbox({.parent = daemon, .socket = fd, .folder = temp, .memory_bytes = 4ull << 30});
//   if (!report) return 3;
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/worker_pool/readable_tree.h"
#include "daemon/worker_pool/sandbox_layers.h"

namespace hearth::daemon {

struct SandboxOptions {
  int parent = 0;                   // the daemon's pid; 0: not checked
  int socket = -1;                  // to the daemon, which ends the worker by closing its end
  std::string folder;               // all that may be written is below it; empty: nothing may
  std::vector<std::string> reads;   // files and folders that may be read, beside the system's libraries
  std::vector<ReadableTree> trees;  // likewise, as they were when they were allowed: what took their place is not read
  std::vector<std::string> runs;    // likewise, and programs in them may be started
  std::vector<std::string> covers;  // folders that are empty inside, whatever may be read; trees in them excepted
  std::uint64_t memory_bytes = 0;   // resident memory the daemon allows; address space gets head-room; 0: unlimited
  std::uint64_t output_bytes = 0;   // the largest file; 0: unlimited
  std::uint64_t folder_bytes = 0;   // all files together; 0: unlimited
  std::uint64_t processor_s = 0;    // processor time of a process; 0: unlimited
  std::uint64_t tasks = 0;          // processes and threads; 0: unlimited
  bool programs = false;            // it may start programs, which are in the same cage
  bool remove_folder = false;       // the keeper removes the folder at the end
  std::set<std::string> without;    // layers to leave out: the setting `sandbox = off`, and tests
};

std::optional<v1::SandboxReport> enter_sandbox(const SandboxOptions& options);

}  // namespace hearth::daemon
