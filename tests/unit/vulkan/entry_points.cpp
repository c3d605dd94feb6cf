#include "tests/unit/vulkan/entry_points.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace hearth::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Calls {
  const char* name;
  bool may_fail = false;
  std::uint64_t count = 0;
  std::uint64_t fail_after = UINT64_MAX;
  VkResult failure = VK_SUCCESS;
};

std::vector<Calls*>& registry() {
  static std::vector<Calls*> all;
  return all;
}

std::int64_t alive_objects = 0;
bool failed = false;
Clock::duration spent{};
std::uint32_t greatest_groups = 0;

enum class Effect { kNone, kCreates, kDestroys, kWaits };

// One entry point: a member of the table. `Effect` says what it does to objects.
template <auto Entry, Effect kEffect, typename Function>
struct Wrapped;
template <auto Entry, Effect kEffect, typename Result, typename... Arguments>
struct Wrapped<Entry, kEffect, Result (*)(Arguments...)> {
  static inline Result (*original)(Arguments...) = nullptr;
  static inline Calls calls{};

  static Result call(Arguments... arguments) {
    const Clock::time_point before = Clock::now();
    const auto measured = [&](auto&& result) {
      spent += Clock::now() - before;
      return result;
    };
    ++calls.count;
    if constexpr (std::is_same_v<Result, VkResult>) {
      if (calls.count - 1 == calls.fail_after) {
        failed = true;
        if (kEffect == Effect::kWaits && calls.failure == VK_ERROR_DEVICE_LOST) original(arguments...);
        return calls.failure;
      }
      const VkResult result = original(arguments...);
      if (kEffect == Effect::kCreates && result == VK_SUCCESS) ++alive_objects;
      return measured(result);
    } else if constexpr (std::is_void_v<Result>) {
      original(arguments...);
      if (kEffect == Effect::kDestroys) --alive_objects;
      measured(0);
    } else {
      return measured(original(arguments...));
    }
  }

  static void install(VolkDeviceTable& table, const char* name) {
    original = table.*Entry;
    table.*Entry = call;
    if (calls.name != nullptr) return;
    calls.name = name;
    calls.may_fail = std::is_same_v<Result, VkResult>;
    registry().push_back(&calls);
  }
};

template <auto Entry, Effect kEffect>
void install_one(VolkDeviceTable& table, const char* name) {
  Wrapped<Entry, kEffect, std::remove_reference_t<decltype(table.*Entry)>>::install(table, name);
}

Calls& find(const std::string& name) {
  const auto found = std::ranges::find_if(registry(), [&](const Calls* calls) { return calls->name == name; });
  if (found == registry().end()) throw std::logic_error("no entry point " + name);
  return **found;
}

void (*real_dispatch)(VkCommandBuffer, std::uint32_t, std::uint32_t, std::uint32_t) = nullptr;
void dispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  greatest_groups = std::max(greatest_groups, x);
  real_dispatch(commands, x, y, z);
}

}  // namespace

void EntryPoints::install(VolkDeviceTable& table) {
#define HEARTH_WRAP(name, effect) install_one<&VolkDeviceTable::name, Effect::effect>(table, #name)
  HEARTH_WRAP(vkCreatePipelineLayout, kCreates);
  HEARTH_WRAP(vkDestroyPipelineLayout, kDestroys);
  HEARTH_WRAP(vkCreateBuffer, kCreates);
  HEARTH_WRAP(vkDestroyBuffer, kDestroys);
  HEARTH_WRAP(vkAllocateMemory, kCreates);
  HEARTH_WRAP(vkFreeMemory, kDestroys);
  HEARTH_WRAP(vkBindBufferMemory, kNone);
  HEARTH_WRAP(vkMapMemory, kNone);
  HEARTH_WRAP(vkCreateSemaphore, kCreates);
  HEARTH_WRAP(vkDestroySemaphore, kDestroys);
  HEARTH_WRAP(vkCreateCommandPool, kCreates);
  HEARTH_WRAP(vkDestroyCommandPool, kDestroys);
  HEARTH_WRAP(vkResetCommandPool, kNone);
  HEARTH_WRAP(vkAllocateCommandBuffers, kNone);
  HEARTH_WRAP(vkBeginCommandBuffer, kNone);
  HEARTH_WRAP(vkEndCommandBuffer, kNone);
  HEARTH_WRAP(vkCmdBindPipeline, kNone);
  HEARTH_WRAP(vkCmdPushConstants, kNone);
  HEARTH_WRAP(vkCmdPipelineBarrier2, kNone);
  HEARTH_WRAP(vkCmdCopyBuffer, kNone);
  HEARTH_WRAP(vkCmdFillBuffer, kNone);
  HEARTH_WRAP(vkCreateShaderModule, kCreates);
  HEARTH_WRAP(vkDestroyShaderModule, kDestroys);
  HEARTH_WRAP(vkCreatePipelineCache, kCreates);
  HEARTH_WRAP(vkDestroyPipelineCache, kDestroys);
  HEARTH_WRAP(vkGetPipelineCacheData, kNone);
  HEARTH_WRAP(vkCreateComputePipelines, kCreates);
  HEARTH_WRAP(vkDestroyPipeline, kDestroys);
  HEARTH_WRAP(vkCreateQueryPool, kCreates);
  HEARTH_WRAP(vkDestroyQueryPool, kDestroys);
  HEARTH_WRAP(vkGetQueryPoolResults, kNone);
  HEARTH_WRAP(vkQueueSubmit2, kNone);
  HEARTH_WRAP(vkWaitSemaphores, kWaits);
  HEARTH_WRAP(vkDeviceWaitIdle, kNone);
#undef HEARTH_WRAP
  real_dispatch = table.vkCmdDispatch;
  table.vkCmdDispatch = dispatch;
}

void EntryPoints::reset() {
  for (Calls* calls : registry()) {
    calls->count = 0;
    calls->fail_after = UINT64_MAX;
  }
  failed = false;
  spent = {};
  greatest_groups = 0;
}

std::vector<std::string> EntryPoints::names() {
  std::vector<std::string> names;
  for (const Calls* calls : registry()) {
    if (calls->may_fail) names.emplace_back(calls->name);
  }
  return names;
}

std::uint64_t EntryPoints::calls(const std::string& name) { return find(name).count; }

std::uint64_t EntryPoints::calls_of(const std::string& beginning) {
  std::uint64_t sum = 0;
  for (const Calls* calls : registry()) sum += std::string(calls->name).rfind(beginning, 0) == 0 ? calls->count : 0;
  return sum;
}

void EntryPoints::fail(const std::string& name, std::uint64_t after, VkResult result) {
  find(name).fail_after = after;
  find(name).failure = result;
}

bool EntryPoints::has_failed() { return failed; }
std::int64_t EntryPoints::alive() { return alive_objects; }
double EntryPoints::spent_us() { return std::chrono::duration<double, std::micro>(spent).count(); }
std::uint32_t EntryPoints::most_groups() { return greatest_groups; }

}  // namespace hearth::testing
