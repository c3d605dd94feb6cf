#include "runtime/weights/device_weights.h"

#include <map>
#include <mutex>
#include <utility>

namespace hearth::runtime {
namespace {

struct Blocks {
  std::mutex mutex;
  std::map<std::pair<const Device*, Digest>, std::weak_ptr<WeightBlock>> all;
};

Blocks& blocks() {
  static Blocks& instance = *new Blocks;  // never destroyed: plans may be released during exit
  return instance;
}

}  // namespace

std::shared_ptr<WeightBlock> find_device_weights(const Device& device, const Digest& key) {
  const std::lock_guard lock(blocks().mutex);
  const auto found = blocks().all.find({&device, key});
  return found == blocks().all.end() ? nullptr : found->second.lock();
}

void add_device_weights(const Device& device, const Digest& key, const std::shared_ptr<WeightBlock>& block) {
  const std::lock_guard lock(blocks().mutex);
  std::erase_if(blocks().all, [](const auto& entry) { return entry.second.expired(); });
  blocks().all[{&device, key}] = block;
}

}  // namespace hearth::runtime
