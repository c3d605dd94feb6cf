// VulkanRunner: kernels on the first Vulkan device of this machine, in a child process: a store outside of a buffer
// kills the process that lavapipe lives in, and Mesa brings an LLVM of its own. Not thread-safe.
//
//   const absl::StatusOr<VulkanRunner*> runner = VulkanRunner::get();   // NotFound: no driver
//   absl::Status status = (*runner)->run(blocks, launches);
#pragma once
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "tests/conformance/runner/runner_process.h"

namespace hearth::conformance {

class VulkanRunner {
 public:
  using Block = RunnerBlock;
  using Launch = RunnerLaunch;

  // The process's only one. NotFound says why there is no device.
  static absl::StatusOr<VulkanRunner*> get();
  // RunnerProcess::run.
  absl::Status run(std::span<const Block> blocks, std::span<const Launch> launches) {
    return process_.run(blocks, launches);
  }
  const std::string& device() const { return device_; }
  // Its subgroup, and the matrices that one multiplies, if any.
  const v1::GpuLimits& matrices() const { return matrices_; }

 private:
  VulkanRunner() : process_({runner_program("hearth-vulkan-runner")}) {}
  absl::Status start();

  RunnerProcess process_;
  std::string device_;
  v1::GpuLimits matrices_;
};

}  // namespace hearth::conformance
