// VulkanRunner: kernels on the first Vulkan device of this machine, in a child process: a store outside of a buffer
// kills the process that lavapipe lives in, and Mesa brings an LLVM of its own. The child stays for the next run; where
// it died the next one is started. Not thread-safe.
//
//   const absl::StatusOr<VulkanRunner*> runner = VulkanRunner::get();   // NotFound: no driver
//   absl::Status status = (*runner)->run(blocks, launches);
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::conformance {

class VulkanRunner {
 public:
  struct Block {  // memory that launches read and write; the device's bytes come back into it
    std::uint8_t* data = nullptr;
    std::size_t size = 0;
  };
  struct Launch {
    const std::string* module = nullptr;  // SPIR-V words
    std::int64_t units = 0;
    std::uint32_t workgroup_size = 1;
    std::vector<const std::uint8_t*> buffers;  // each inside of a block
    std::vector<std::int64_t> vars;
  };

  // The process's only one. NotFound says why there is no device.
  static absl::StatusOr<VulkanRunner*> get();
  // In order, each after the stores of those before it. INTERNAL with what the driver, the validation layer or the
  // child's end said; or when a kernel wrote outside of the blocks.
  absl::Status run(std::span<const Block> blocks, std::span<const Launch> launches);
  const std::string& device() const { return device_; }
  // Its subgroup, and the matrices that one multiplies, if any.
  const v1::GpuLimits& matrices() const { return matrices_; }

  ~VulkanRunner();
  VulkanRunner(const VulkanRunner&) = delete;

 private:
  VulkanRunner() = default;
  absl::Status start();
  void stop();

  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  std::string device_;
  v1::GpuLimits matrices_;
};

}  // namespace hearth::conformance
