// Limits that a process sets itself for good: resources (setrlimit), no capabilities, files for its user only. What it
// starts inherits them. Call once, before any thread. Example:
//   const std::string lacking = limit_process({.memory_bytes = 4ull << 30, .descriptors = 256});
#pragma once
#include <cstdint>
#include <string>

namespace hearth::daemon {

struct ProcessLimits {
  std::uint64_t memory_bytes = 0;  // resident memory; the address space gets head-room; 0: unlimited, as all of these
  std::uint64_t output_bytes = 0;  // the largest file
  std::uint64_t processor_s = 0;
  std::uint64_t descriptors = 0;
  // Processes and threads, of this user in this user namespace; the kernel does not count root's. Leave it 0 without a
  // user namespace of one's own: it would count everything the user runs.
  std::uint64_t tasks = 0;
};

// What could not be done, for a report; empty: all was.
std::string limit_process(const ProcessLimits& limits);

}  // namespace hearth::daemon
