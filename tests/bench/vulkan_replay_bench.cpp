// What a replay on a Vulkan device costs beside the same dispatches recorded by hand, in one run: a plan of many small
// launches; and what of it is our own work, all time outside of the driver's entry points.
//
//   env -i build/release/bin/vulkan_replay_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/hal/vulkan/vulkan_device.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/vulkan/entry_points.h"

namespace hearth::runtime {
namespace {

using testing::EntryPoints;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLength = 256;
constexpr int kRounds = 300;
constexpr float kScale = 0.5F;

template <typename T>
T checked(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}

void check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The plan's launches, recorded by who knows them.
class ByHand {
 public:
  ByHand(const VulkanDeviceInfo& info, const testing::SaxpyPlan& made)
      : context_(checked(VulkanContext::open(info, nullptr))), memory_(context_, false), cache_(context_) {
    const Plan plan = checked(parse_plan(made.plan.SerializeAsString()));
    for (const PlanKernel& kernel : plan.kernels) {
      for (const ArtifactSource& source : made.artifacts) {
        if (source.digest != kernel.artifact) continue;
        pipelines_.push_back(checked(cache_.make_pipeline(source.bytes)));
        break;
      }
    }
    for (const PlanBuffer& buffer : plan.buffers)
      buffers_.push_back(checked(memory_.allocate(buffer.max_bytes, "a buffer", MemoryUse::kShared)));
    rows_ = checked(memory_.allocate(plan.launches.size() * 64, "rows", MemoryUse::kShared));
    commands_ = checked(make_commands(context_));
    const VolkDeviceTable& table = context_->table();
    table.vkGetDeviceQueue(context_->device(), context_->queue_family(), 0, &queue_);
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    table.vkBeginCommandBuffer(commands_.buffer, &begin);
    for (std::size_t i = 0; i < plan.launches.size(); ++i) {
      const PlanLaunch& launch = plan.launches[i];
      if (launch.once) continue;
      auto* row = reinterpret_cast<std::uint64_t*>(static_cast<char*>(rows_.data()) + 64 * i);
      *row++ = kLength;
      for (const std::uint32_t id : launch.buffers) *row++ = reinterpret_cast<std::uint64_t>(buffers_[id].address());
      const VkDeviceAddress address = reinterpret_cast<VkDeviceAddress>(rows_.address()) + 64 * i;
      table.vkCmdBindPipeline(commands_.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_[launch.kernel].get());
      table.vkCmdPushConstants(commands_.buffer, context_->pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               sizeof address, &address);
      table.vkCmdDispatch(commands_.buffer, kLength / 64, 1, 1);
      const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                       .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                       .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
      table.vkCmdPipelineBarrier(commands_.buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    }
    table.vkEndCommandBuffer(commands_.buffer);
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(context_->check(table.vkCreateFence(context_->device(), &fence, nullptr, &fence_), "vkCreateFence"));
  }
  ~ByHand() { context_->table().vkDestroyFence(context_->device(), fence_, nullptr); }

  void run() {
    const VolkDeviceTable& table = context_->table();
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands_.buffer};
    check(context_->check(table.vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit"));
    check(context_->check(table.vkWaitForFences(context_->device(), 1, &fence_, VK_TRUE, UINT64_MAX), "wait"));
    check(context_->check(table.vkResetFences(context_->device(), 1, &fence_), "vkResetFences"));
  }

 private:
  std::shared_ptr<VulkanContext> context_;
  VulkanMemory memory_;
  PipelineCache cache_;
  std::vector<VulkanPipeline> pipelines_;
  std::vector<Buffer> buffers_;
  Buffer rows_;
  VulkanCommands commands_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

void measure(const VulkanDeviceInfo& info, int launches) {
  const testing::SaxpyPlan made = testing::saxpy_plan(kLength, true, launches);
  const VulkanDevice device(info, {.hook = EntryPoints::install});
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.device = &device;
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&kScale, sizeof kScale, nullptr};
  const auto plan = checked(LoadedPlan::create(request));
  Instance instance = checked(create_instance(plan, {.threads = 1}));
  ByHand by_hand(info, made);
  std::vector<double> ours, hands, own, changed;
  for (int round = 0; round < kRounds; ++round) {
    EntryPoints::reset();
    Clock::time_point start = Clock::now();
    check(instance.execute());
    ours.push_back(us_since(start));
    own.push_back(ours.back() - EntryPoints::spent_us());
    start = Clock::now();
    by_hand.run();
    hands.push_back(us_since(start));
    EntryPoints::reset();
    check(instance.set_var("n", kLength - round % 2));
    start = Clock::now();
    check(instance.execute());
    changed.push_back(us_since(start) - EntryPoints::spent_us());
  }
  const double ratio = median(ours) / median(hands);
  std::printf(
      "%d launches: replay %.0f us, by hand %.0f us, ratio %.3f; our own work %.2f us, after new lengths %.2f us\n",
      launches, median(ours), median(hands), ratio, median(own), median(changed));
}

}  // namespace
}  // namespace hearth::runtime

int main() {
  using namespace hearth::runtime;
  ::setenv("HEARTH_TEST_DEVICE", "vulkan", 1);
  try {
    const auto devices = checked(vulkan_devices());
    for (const VulkanDeviceInfo& info : devices) {
      if (!info.unusable.empty()) continue;
      std::printf("%s, %s\n", info.name.c_str(), info.driver_version.c_str());
      for (const int launches : {36, 450}) measure(info, launches);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_replay_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
