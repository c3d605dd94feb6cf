// PipelineCache: what a device's driver made of kernels, kept in a file for the next process (cache_file.h). Without a
// place for it, it is for this process alone. Thread-safe.
//
//   absl::StatusOr<VulkanPipeline> pipeline = cache.make_pipeline(spirv);
//   cache.save();
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/hal/vulkan/vulkan_context.h"

namespace hearth::runtime {

class PipelineCache {
 public:
  explicit PipelineCache(std::shared_ptr<const VulkanContext> context) : context_(std::move(context)) {}
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;

  // The pipeline of a module whose entry point is "main". INTERNAL with what the driver says, and the module's digest.
  absl::StatusOr<VulkanPipeline> make_pipeline(std::string_view module);
  // To the file, where pipelines came that were not in it.
  void save();

  struct Counts {
    std::uint64_t made = 0;
    std::uint64_t from_cache = 0;  // that the driver says it had; not all drivers do
  };
  Counts counts() const { return {made_, from_cache_}; }

 private:
  absl::Status open();

  std::shared_ptr<const VulkanContext> context_;
  std::mutex mutex_;  // of all below
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool is_changed_ = false;
  std::atomic<std::uint64_t> made_ = 0, from_cache_ = 0;
};

}  // namespace hearth::runtime
