// What GPUs that LLVM compiles for can do, and what is wrong with a record of one: device "cuda" with NVIDIA's triple
// or "hip" with AMD's, or either with a processor's, for which the same kernels are compiled to be run one invocation
// after the other where no such GPU is (hearth_simt_fn).
#pragma once
#include "absl/status/status.h"
#include "compiler/target/target.h"

namespace hearth::target {

Capabilities cuda_capabilities(const v1::Target& record);
Capabilities hip_capabilities(const v1::Target& record);

// INVALID_ARGUMENT names the field, UNIMPLEMENTED an arch that LLVM has no code for.
absl::Status check_gpu_record(const v1::Target& record);

// What is wrong with v1::Target.gpu, for every kind of GPU.
absl::Status check_gpu_limits(const v1::GpuLimits& gpu);

}  // namespace hearth::target
