// A workgroup of a kernel whose units are workgroups: its invocations run one after the other, each on a stack of its own,
// from barrier to barrier, in an order that is drawn anew each time. Ends the process with a sentence where they come to
// different barriers, or some end while others wait. Used under lock().
#pragma once
#include <cstdint>
#include <random>

#include "base/kernel_abi.h"

namespace hearth::stand_in {

struct WorkgroupLaunch {
  hearth_simt_fn code = nullptr;
  const std::uint64_t* row = nullptr;
  std::int64_t workgroup = 0, workgroups = 1;
  std::int64_t invocations = 1;   // of a workgroup
  std::int64_t shared_bytes = 0;  // that it has together; garbage at first
};

void run_workgroup(const WorkgroupLaunch& launch, std::mt19937_64& random);

}  // namespace hearth::stand_in
