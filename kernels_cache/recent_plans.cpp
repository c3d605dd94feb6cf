#include "kernels_cache/recent_plans.h"

#include <utility>

namespace hearth::cache {

std::shared_ptr<const RecentPlans::Entry> RecentPlans::find(const Digest& key, const std::string& material) {
  std::lock_guard lock(mutex_);
  auto slot = slots_.find(key);
  if (slot == slots_.end() || slot->second.entry->row.material != material) return nullptr;
  order_.splice(order_.begin(), order_, slot->second.position);
  return slot->second.entry;
}

std::uint64_t RecentPlans::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

void RecentPlans::add(Entry entry, std::uint64_t seen_generation) {
  const std::size_t size = size_of(entry);
  if (size > limit_bytes_) return;
  const Digest key = entry.row.key;
  std::lock_guard lock(mutex_);
  if (seen_generation != generation_) return;
  if (auto old = slots_.find(key); old != slots_.end()) drop_locked(old);
  order_.push_front(key);
  slots_[key] = {std::make_shared<const Entry>(std::move(entry)), order_.begin()};
  bytes_ += size;
  while (bytes_ > limit_bytes_) drop_locked(slots_.find(order_.back()));
}

std::uint64_t RecentPlans::forget(const Digest& key) {
  std::lock_guard lock(mutex_);
  if (auto slot = slots_.find(key); slot != slots_.end()) drop_locked(slot);
  return ++generation_;
}

void RecentPlans::drop_locked(std::map<Digest, Slot>::iterator slot) {
  bytes_ -= size_of(*slot->second.entry);
  order_.erase(slot->second.position);
  slots_.erase(slot);
}

}  // namespace hearth::cache
