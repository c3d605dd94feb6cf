// VulkanDevice: one device and queue, whose memory the host sees, as the test's child process uses it: launches of the
// GPU kernel ABI (base/kernel_abi.h), one submission a run, every launch behind a full barrier. Errors:
// std::runtime_error.
#pragma once
#include <volk.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hearth/v1/artifact.pb.h"
#include "tests/conformance/runner/runner_wire.h"

namespace hearth::conformance {

class VulkanDevice {
 public:
  // Throws with the reason where there is none.
  VulkanDevice();
  ~VulkanDevice();
  VulkanDevice(const VulkanDevice&) = delete;

  const std::string& name() const { return name_; }
  // Its subgroup, and the matrices that one multiplies, if any.
  const v1::GpuLimits& matrices() const { return matrices_; }
  // A request of VulkanRunner; appends the blocks' bytes to `reply`.
  void run(WireReader& request, WireWriter& reply);

 private:
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint8_t* data = nullptr;
    VkDeviceAddress address = 0;
    std::size_t size = 0;
  };

  void make_instance();
  void make_device();
  void reserve(std::size_t size);
  VkPipeline pipeline(std::string_view module);
  std::uint32_t memory_type(std::uint32_t allowed) const;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  Memory memory_;
  std::map<std::string, VkPipeline, std::less<>> pipelines_;  // by their modules' words
  std::string name_, messages_;
  v1::GpuLimits matrices_;
};

}  // namespace hearth::conformance
