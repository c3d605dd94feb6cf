// A plan's kernels as pipelines of one Vulkan device. Immutable; thread-safe.
#pragma once
#include <memory>
#include <vector>

#include "runtime/hal/device.h"
#include "runtime/hal/vulkan/pipeline_cache.h"
#include "runtime/hal/vulkan/pipeline_trials.h"
#include "runtime/hal/vulkan/vulkan_context.h"
#include "runtime/hal/vulkan/vulkan_memory.h"

namespace hearth::runtime {

class VulkanExecutable final : public Executable {
 public:
  // Errors: NOT_FOUND, DATA_LOSS naming the kernel and its artifact; the driver's, naming the kernel.
  static absl::StatusOr<std::unique_ptr<VulkanExecutable>> load(const std::shared_ptr<const VulkanContext>& context,
                                                                const std::shared_ptr<VulkanMemory>& memory,
                                                                PipelineCache& cache, PipelineTrials& trials,
                                                                const Plan& plan,
                                                                const std::vector<ArtifactSource>& artifacts);
  absl::StatusOr<std::unique_ptr<Program>> program(Rows& rows, const HostWork& host) const override;

  const VulkanContext& context() const { return *context_; }
  VkPipeline pipeline(std::uint32_t kernel) const { return pipelines_[place_[kernel]].get(); }

 private:
  std::shared_ptr<const VulkanContext> context_;
  std::shared_ptr<VulkanMemory> memory_;
  std::vector<VulkanPipeline> pipelines_;  // of different artifacts
  std::vector<std::size_t> place_;         // in those, by kernel
};

}  // namespace hearth::runtime
