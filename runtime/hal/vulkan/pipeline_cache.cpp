#include "runtime/hal/vulkan/pipeline_cache.h"

#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/vulkan/cache_file.h"
#include "runtime/hal/vulkan/cooperative_matrix.h"

namespace hearth::runtime {
namespace {

constexpr const char* kKind = "pipelines";

}  // namespace

PipelineCache::~PipelineCache() {
  if (cache_ == VK_NULL_HANDLE || context_->is_abandoned()) return;
  context_->table().vkDestroyPipelineCache(context_->device(), cache_, nullptr);
}

absl::Status PipelineCache::open() {
  if (cache_ != VK_NULL_HANDLE) return absl::OkStatus();
  const std::string data = CacheFile(context_->info(), kKind).read();
  const VkPipelineCacheCreateInfo create = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .initialDataSize = data.size(),
                                            .pInitialData = data.data()};
  const VkResult made = context_->table().vkCreatePipelineCache(context_->device(), &create, nullptr, &cache_);
  return context_->check(made, "vkCreatePipelineCache");
}

absl::StatusOr<VulkanPipeline> PipelineCache::make_pipeline(std::string_view module) {
  const std::lock_guard lock(mutex_);
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  HEARTH_RETURN_IF_ERROR(open());
  const VolkDeviceTable& table = context_->table();
  std::vector<std::uint32_t> words(module.size() / sizeof(std::uint32_t));
  if (words.empty() || module.size() % sizeof(std::uint32_t) != 0)
    return absl::DataLossError(str_cat("its code has ", module.size(), " bytes, which is no SPIR-V module"));
  std::memcpy(words.data(), module.data(), module.size());
  const VkShaderModuleCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = module.size(), .pCode = words.data()};
  VkShaderModule shader = VK_NULL_HANDLE;
  VkResult result = table.vkCreateShaderModule(context_->device(), &create, nullptr, &shader);
  HEARTH_RETURN_IF_ERROR(context_->check(result, "vkCreateShaderModule"));
  const VulkanObject<VkShaderModule, &VolkDeviceTable::vkDestroyShaderModule> owner(context_, shader);
  VkPipelineCreationFeedback feedback = {}, stage = {};
  const VkPipelineCreationFeedbackCreateInfo asked = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
                                                      .pPipelineCreationFeedback = &feedback,
                                                      .pipelineStageCreationFeedbackCount = 1,
                                                      .pPipelineStageCreationFeedbacks = &stage};
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroups = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = context_->info().target.gpu().subgroup_size()};
  const bool has_matrices = has_cooperative_matrices(words);
  const VkPipelineShaderStageCreateFlags full =
      has_matrices ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0;
  const VkComputePipelineCreateInfo compute = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                               .pNext = &asked,
                                               .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                         .pNext = has_matrices ? &subgroups : nullptr,
                                                         .flags = full,
                                                         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                         .module = shader,
                                                         .pName = "main"},
                                               .layout = context_->pipeline_layout()};
  VkPipeline pipeline = VK_NULL_HANDLE;
  result = table.vkCreateComputePipelines(context_->device(), cache_, 1, &compute, nullptr, &pipeline);
  if (absl::Status made = context_->check(result, "vkCreateComputePipelines"); !made.ok())
    return absl::Status(made.code(), str_cat(made.message(), " (module ", to_hex(sha256(module)), ")"));
  constexpr VkPipelineCreationFeedbackFlags kHit =
      VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT | VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  const bool is_known = (feedback.flags & kHit) == kHit;
  ++made_;
  from_cache_ += is_known ? 1 : 0;
  is_changed_ = is_changed_ || !is_known;
  return VulkanPipeline(context_, pipeline);
}

void PipelineCache::save() {
  const std::lock_guard lock(mutex_);
  if (!is_changed_) return;
  const CacheFile file(context_->info(), kKind);
  std::size_t size = 0;
  const VolkDeviceTable& table = context_->table();
  if (table.vkGetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS) return;
  std::string data(size, '\0');
  if (table.vkGetPipelineCacheData(context_->device(), cache_, &size, data.data()) != VK_SUCCESS) return;
  data.resize(size);
  is_changed_ = file.read() != data && !file.write(data);
}

}  // namespace hearth::runtime
