// The capability record of this host's CPU: what kernels are compiled for and what a loader can run.
// Read once from cpuid and xgetbv (a feature counts only when the OS saves its registers). Thread-safe.
// HEARTH_CPU_FEATURES="avx2,fma" restricts it to the named ones that this CPU has.
//
//   v1::Target target = cpu_target(/*threads=*/8);   // x86_64-unknown-linux-gnu, avx2, fma, …
#pragma once
#include <string>
#include <vector>

#include "hearth/v1/artifact.pb.h"

namespace hearth::runtime {

// LLVM feature names this CPU and OS support, sorted, before HEARTH_CPU_FEATURES is applied.
const std::vector<std::string>& host_cpu_features();

// `threads` 0 or less: every CPU this process may use.
v1::Target cpu_target(int threads);

// A GPU's record for what stands in for its driver on this host: the same kernels, as this host's code.
v1::Target as_host_code(v1::Target gpu);

// CPUs this process may use, at least 1: those of its affinity mask, and no more than its control group has time for
// (base/cgroup_limits) when it was asked for the first time.
int available_cpus();

}  // namespace hearth::runtime
