// A device whose memory the host does not see, as a GPU's of its own: kernels are those of the CPU, given addresses
// that are kFar beyond where the memory is; of kShared memory data() is there, of kDevice memory it is null.
// Thread-safe.
//
//   request.device = testing::device_of_tests();
#pragma once
#include "runtime/devices/devices.h"

namespace hearth::testing {

class FarDevice : public runtime::Device {
 public:
  static constexpr std::size_t kFar = std::size_t{1} << 60;

  std::string_view name() const override { return "far"; }
  v1::Target target(int threads) const override;
  bool reaches_host_memory() const override { return false; }
  absl::StatusOr<runtime::Buffer> allocate(std::size_t size_bytes, std::string_view what,
                                           runtime::MemoryUse use) const override;
  absl::Status write(const runtime::Buffer& to, std::size_t offset, const void* from,
                     std::size_t size_bytes) const override;
  absl::Status read(const runtime::Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const override;
  absl::StatusOr<std::unique_ptr<runtime::Executable>> load(
      const runtime::Plan& plan, const std::vector<runtime::ArtifactSource>& artifacts) const override;
};

// The one that HEARTH_TEST_DEVICE names: far, vulkan, or a name of find_device(); null: the one that a plan names.
// Throws std::runtime_error where there is none.
const runtime::Device* device_of_tests();

}  // namespace hearth::testing
