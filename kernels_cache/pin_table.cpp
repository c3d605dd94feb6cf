#include "kernels_cache/pin_table.h"

#include <algorithm>

namespace hearth::cache {

Pin::Pin(Pin&& other) noexcept : table_(std::move(other.table_)), digests_(std::move(other.digests_)) {
  other.table_.reset();
  other.digests_.clear();
}

Pin& Pin::operator=(Pin&& other) noexcept {
  if (this != &other) {
    release();
    table_ = std::move(other.table_);
    digests_ = std::move(other.digests_);
    other.table_.reset();
    other.digests_.clear();
  }
  return *this;
}

void Pin::release() {
  if (table_) table_->unpin(digests_);
  table_.reset();
  digests_.clear();
}

std::optional<Pin> PinTable::pin(const std::shared_ptr<PinTable>& table, std::span<const Digest> digests) {
  std::lock_guard lock(table->mutex_);
  for (const Digest& digest : digests) {
    if (table->evicting_.contains(digest)) return std::nullopt;
  }
  for (const Digest& digest : digests) ++table->counts_[digest];
  return Pin(table, {digests.begin(), digests.end()});
}

bool PinTable::pinned(const Digest& digest) const {
  std::lock_guard lock(mutex_);
  return counts_.contains(digest);
}

std::size_t PinTable::num_pinned() const {
  std::lock_guard lock(mutex_);
  return counts_.size();
}

bool PinTable::begin_eviction(const Digest& digest) {
  std::lock_guard lock(mutex_);
  if (counts_.contains(digest)) return false;
  evicting_.insert(digest);
  return true;
}

void PinTable::cancel_eviction(const Digest& digest) {
  std::lock_guard lock(mutex_);
  evicting_.erase(digest);
}

void PinTable::unpin(const std::vector<Digest>& digests) {
  std::lock_guard lock(mutex_);
  for (const Digest& digest : digests) {
    auto entry = counts_.find(digest);
    if (entry != counts_.end() && --entry->second == 0) counts_.erase(entry);
  }
}

}  // namespace hearth::cache
