// What keeps a kernel from being faster: a roofline of this machine (machine_speed), the instructions that the compiler
// estimated, and the threads that had something to do. Pure functions.
//
//   const KernelLimit limit = limit_of(row, speed);   // limit.text: "memory"
#pragma once
#include <string>

#include "client/cli/kernel_rows.h"
#include "client/cli/machine_speed.h"

namespace hearth::cli {

struct KernelLimit {
  double peak_share = -1;       // of the machine's arithmetic on f32, above 1 in narrower types; negative: not known
  double bandwidth_share = -1;  // of the bandwidth of where the kernel's bytes are; likewise
  // "arithmetic", "instructions" (what else the code does for each result: loads, shuffles, conversions, comparisons),
  // "memory", "cache", "threads" (fewer units than threads), "launch" (over before threads or vectors can help),
  // "latency" (none of them is near its limit: it waits); empty: not known.
  std::string text;
};

// The limit of a row that was measured with speed.threads threads.
KernelLimit limit_of(const KernelRow& row, const MachineSpeed& speed);

}  // namespace hearth::cli
