#include "runtime/hal/vulkan/pipeline_cache.h"

#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;

// Made where they are missing; empty where there is no place for it. A folder of another user is none.
std::string cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else if (home != nullptr && home[0] == '/') {
    folder = str_cat(home, "/.cache");
  } else {
    return "";
  }
  for (const char* name : {"", "/hearth", "/vulkan"}) {
    folder += name;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  }
  struct stat info{};
  const bool is_ours = ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
                       (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? folder : "";
}

// What was saved, or nothing.
std::string saved_data(const std::string& path) {
  if (path.empty()) return "";
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || info.st_size > static_cast<off_t>(kMostFileBytes)) return "";
  const absl::StatusOr<std::string> file = read_file(path);
  if (!file.ok() || file->size() < sizeof(Digest)) return "";
  std::string data = file->substr(sizeof(Digest));
  return to_bytes(sha256(data)) == file->substr(0, sizeof(Digest)) ? data : "";
}

}  // namespace

PipelineCache::~PipelineCache() {
  if (cache_ == VK_NULL_HANDLE || context_->is_abandoned()) return;
  context_->table().vkDestroyPipelineCache(context_->device(), cache_, nullptr);
}

std::string PipelineCache::file_name() const {
  const std::string folder = cache_folder();
  if (folder.empty()) return "";
  const VulkanDeviceInfo& info = context_->info();
  const std::string key = to_hex(sha256(str_cat(info.uuid, info.driver, "\n", info.driver_version, "\n", info.name)));
  return str_cat(folder, "/", to_hex(info.uuid), "-", key.substr(0, 16), ".pipelines");
}

absl::Status PipelineCache::open() {
  if (cache_ != VK_NULL_HANDLE) return absl::OkStatus();
  const std::string data = saved_data(file_name());
  const VkPipelineCacheCreateInfo create = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .initialDataSize = data.size(),
                                            .pInitialData = data.data()};
  const VkResult made = context_->table().vkCreatePipelineCache(context_->device(), &create, nullptr, &cache_);
  return context_->check(made, "vkCreatePipelineCache");
}

absl::StatusOr<VulkanPipeline> PipelineCache::make_pipeline(std::string_view module) {
  const std::lock_guard lock(mutex_);
  if (absl::Status usable = context_->check_usable(); !usable.ok()) return usable;
  if (absl::Status opened = open(); !opened.ok()) return opened;
  const VolkDeviceTable& table = context_->table();
  std::vector<std::uint32_t> words(module.size() / sizeof(std::uint32_t));
  if (words.empty() || module.size() % sizeof(std::uint32_t) != 0)
    return absl::DataLossError(str_cat("its code has ", module.size(), " bytes, which is no SPIR-V module"));
  std::memcpy(words.data(), module.data(), module.size());
  const VkShaderModuleCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = module.size(), .pCode = words.data()};
  VkShaderModule shader = VK_NULL_HANDLE;
  VkResult result = table.vkCreateShaderModule(context_->device(), &create, nullptr, &shader);
  if (absl::Status made = context_->check(result, "vkCreateShaderModule"); !made.ok()) return made;
  const VulkanObject<VkShaderModule, &VolkDeviceTable::vkDestroyShaderModule> owner(context_, shader);
  VkPipelineCreationFeedback feedback = {}, stage = {};
  const VkPipelineCreationFeedbackCreateInfo asked = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
                                                      .pPipelineCreationFeedback = &feedback,
                                                      .pipelineStageCreationFeedbackCount = 1,
                                                      .pPipelineStageCreationFeedbacks = &stage};
  const VkComputePipelineCreateInfo compute = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                               .pNext = &asked,
                                               .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                         .module = shader,
                                                         .pName = "main"},
                                               .layout = context_->pipeline_layout()};
  VkPipeline pipeline = VK_NULL_HANDLE;
  result = table.vkCreateComputePipelines(context_->device(), cache_, 1, &compute, nullptr, &pipeline);
  if (absl::Status made = context_->check(result, "vkCreateComputePipelines"); !made.ok())
    return absl::Status(made.code(),
                        str_cat(made.message(), " (module ", to_hex(sha256(module)), ")"));
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
  const std::string path = file_name();
  std::size_t size = 0;
  const VolkDeviceTable& table = context_->table();
  if (path.empty() || table.vkGetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS) return;
  std::string data(size, '\0');
  const VkResult got = table.vkGetPipelineCacheData(context_->device(), cache_, &size, data.data());
  if (got != VK_SUCCESS || size > kMostFileBytes) return;
  data.resize(size);
  const std::string digest = to_bytes(sha256(data));
  is_changed_ = saved_data(path) != data && !write_file(path, {digest, data}).ok();
}

}  // namespace hearth::runtime
