// What the control groups of this process (containers, services) leave it of the machine: processors and memory. Reads
// version 2 and 1; the least of the group and all groups above it that can be seen. Thread-safe; no errors: where
// nothing can be read, nothing limits.
//
//   const CgroupLimits limits = cgroup_limits();
//   unsigned threads = limits.processors ? std::min(cpus, *limits.processors) : cpus;
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace hearth {

struct CgroupLimits {
  // Processors' time a time, rounded up, at least 1: a quota of 2.5 keeps three threads busy five sixths of the time.
  std::optional<unsigned> processors;
  std::optional<std::uint64_t> memory_bytes;
};

// `root`: in front of /proc and /sys, for tests.
CgroupLimits cgroup_limits(const std::string& root = "");

}  // namespace hearth
