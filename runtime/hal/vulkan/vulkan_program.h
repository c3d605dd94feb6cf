// A plan's launches as one command buffer, recorded once: each dispatch reads what it works on from its row in memory
// that the host writes (base/kernel_abi.h), so that other addresses, values and counts record nothing anew. A run is
// one submission. Used by one thread at a time.
#pragma once
#include <memory>
#include <vector>

#include "runtime/hal/gpu/launch_rows.h"
#include "runtime/hal/program.h"
#include "runtime/hal/vulkan/vulkan_context.h"
#include "runtime/hal/vulkan/vulkan_memory.h"

namespace hearth::runtime {

class VulkanExecutable;

class VulkanProgram final : public Program {
 public:
  // Both outlive it, as do the rows. Errors: RESOURCE_EXHAUSTED for rows or commands that find no room.
  static absl::StatusOr<std::unique_ptr<VulkanProgram>> record(std::shared_ptr<const VulkanContext> context,
                                                               const std::shared_ptr<VulkanMemory>& memory,
                                                               const VulkanExecutable& executable, Rows& rows);
  absl::Status run() override;
  absl::Status run_profiled(Profile& profile) override;
  absl::Status rows_changed() override;

 private:
  VulkanProgram(std::shared_ptr<const VulkanContext> context, const VulkanExecutable& executable, LaunchRows launches)
      : context_(std::move(context)), executable_(executable), launches_(std::move(launches)) {}
  absl::Status allocate(VulkanMemory& memory);
  // `queries` null: times nothing.
  absl::Status record_into(VkCommandBuffer commands, VkQueryPool queries) const;
  void dispatch(VkCommandBuffer commands, std::size_t launch) const;
  absl::Status prepare_to_profile();
  absl::Status submit(VkCommandBuffer commands);

  std::shared_ptr<const VulkanContext> context_;
  const VulkanExecutable& executable_;
  LaunchRows launches_;
  Buffer row_memory_;
  VulkanSemaphore done_;
  std::uint64_t runs_ = 0;  // done_ when all are done
  VulkanCommands commands_;
  VulkanCommands profiled_;  // with a time before and after each; recorded when it is first asked for
  VulkanQueryPool queries_;
};

}  // namespace hearth::runtime
