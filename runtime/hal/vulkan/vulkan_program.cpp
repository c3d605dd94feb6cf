#include "runtime/hal/vulkan/vulkan_program.h"

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/vulkan/vulkan_executable.h"

namespace hearth::runtime {
namespace {

// What every device takes in one dimension (maxComputeWorkGroupCount is at least that); a kernel's invocations take
// their units in steps of all.
constexpr std::int64_t kMaxGroups = 65'535;

}  // namespace

absl::StatusOr<std::unique_ptr<VulkanProgram>> VulkanProgram::record(std::shared_ptr<const VulkanContext> context,
                                                                     const std::shared_ptr<VulkanMemory>& memory,
                                                                     const VulkanExecutable& executable, Rows& rows) {
  HEARTH_RETURN_IF_ERROR(context->check_usable());
  HEARTH_ASSIGN_OR_RETURN(LaunchRows launches, LaunchRows::of(rows));
  std::unique_ptr<VulkanProgram> program(new VulkanProgram(std::move(context), executable, std::move(launches)));
  HEARTH_RETURN_IF_ERROR(program->allocate(*memory));
  absl::Status recorded = program->record_into(program->commands_.buffer, VK_NULL_HANDLE);
  if (!recorded.ok()) return recorded;
  HEARTH_RETURN_IF_ERROR(program->rows_changed());
  return program;
}

absl::Status VulkanProgram::allocate(VulkanMemory& memory) {
  HEARTH_ASSIGN_OR_RETURN(Buffer rows, memory.allocate(launches_.num_words() * sizeof(std::uint64_t),
                                                       "the launches' rows", MemoryUse::kWritten));
  row_memory_ = std::move(rows);
  HEARTH_ASSIGN_OR_RETURN(VulkanSemaphore done, make_timeline(context_));
  done_ = std::move(done);
  HEARTH_ASSIGN_OR_RETURN(VulkanCommands commands, make_commands(context_));
  commands_ = std::move(commands);
  return absl::OkStatus();
}

void VulkanProgram::dispatch(VkCommandBuffer commands, std::size_t launch) const {
  const VolkDeviceTable& table = context_->table();
  const std::uint32_t kernel = launches_.step(launch).kernel;
  const VkDeviceAddress row =
      reinterpret_cast<VkDeviceAddress>(row_memory_.address()) + launches_.first_word(launch) * 8;
  table.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, executable_.pipeline(kernel));
  table.vkCmdPushConstants(commands, context_->pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof row, &row);
  table.vkCmdDispatch(commands, static_cast<std::uint32_t>(launches_.groups(launch, kMaxGroups)), 1, 1);
}

absl::Status VulkanProgram::record_into(VkCommandBuffer commands, VkQueryPool queries) const {
  const VolkDeviceTable& table = context_->table();
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  absl::Status status = context_->check(table.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  if (!status.ok()) return status;
  const VkMemoryBarrier2 between = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      .srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT};
  // For the host, for copies, and for later runs: carried state, what `once` launches made, the arena used again.
  VkMemoryBarrier2 last = between;
  last.dstStageMask |= VK_PIPELINE_STAGE_2_HOST_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
  last.dstAccessMask |= VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_TRANSFER_READ_BIT;
  const auto depend = [&](const VkMemoryBarrier2& barrier) {
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    table.vkCmdPipelineBarrier2(commands, &dependency);
  };
  if (queries != VK_NULL_HANDLE)
    table.vkCmdResetQueryPool(commands, queries, 0, static_cast<std::uint32_t>(launches_.size() + 1));
  const auto time = [&](std::size_t place) {
    if (queries == VK_NULL_HANDLE) return;
    table.vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries,
                               static_cast<std::uint32_t>(place));
  };
  time(0);
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (launches_.waits(i) || (i > 0 && queries != VK_NULL_HANDLE)) depend(between);  // times are of one launch alone
    dispatch(commands, i);
    time(i + 1);
  }
  depend(last);
  return context_->check(table.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

absl::Status VulkanProgram::rows_changed() {
  launches_.write(static_cast<std::uint64_t*>(row_memory_.data()));
  return absl::OkStatus();
}

absl::Status VulkanProgram::submit(VkCommandBuffer commands) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  HEARTH_RETURN_IF_ERROR(context_->submit(commands, done_.get(), runs_ + 1));
  return context_->wait(done_.get(), ++runs_);
}

absl::Status VulkanProgram::run() { return submit(commands_.buffer); }

absl::Status VulkanProgram::prepare_to_profile() {
  if (queries_.get() != VK_NULL_HANDLE) return absl::OkStatus();
  if (context_->timestamp_ns() == 0) {
    return absl::FailedPreconditionError(
        str_cat(context_->info().name, ": its queue for compute work measures no times"));
  }
  const VkQueryPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = static_cast<std::uint32_t>(launches_.size() + 1)};
  VkQueryPool pool = VK_NULL_HANDLE;
  const VkResult made = context_->table().vkCreateQueryPool(context_->device(), &create, nullptr, &pool);
  HEARTH_RETURN_IF_ERROR(context_->check(made, "vkCreateQueryPool"));
  VulkanQueryPool queries(context_, pool);
  HEARTH_ASSIGN_OR_RETURN(VulkanCommands commands, make_commands(context_));
  HEARTH_RETURN_IF_ERROR(record_into(commands.buffer, pool));
  profiled_ = std::move(commands);
  queries_ = std::move(queries);
  return absl::OkStatus();
}

absl::Status VulkanProgram::run_profiled(Profile& profile) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  HEARTH_RETURN_IF_ERROR(prepare_to_profile());
  HEARTH_RETURN_IF_ERROR(submit(profiled_.buffer));
  std::vector<std::uint64_t> ticks(launches_.size() + 1);
  const VkResult got = context_->table().vkGetQueryPoolResults(
      context_->device(), queries_.get(), 0, static_cast<std::uint32_t>(ticks.size()), ticks.size() * sizeof ticks[0],
      ticks.data(), sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  HEARTH_RETURN_IF_ERROR(context_->check(got, "vkGetQueryPoolResults"));
  launches_.add_times(ticks, context_->timestamp_ns(), profile);
  return absl::OkStatus();
}

}  // namespace hearth::runtime
