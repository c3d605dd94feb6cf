// KernelsCache::Impl: giving the directory to the daemon that follows.
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {

absl::Status KernelsCache::Impl::check_owned() const {
  if (!handed_over_) return absl::OkStatus();
  return absl::UnavailableError("the cache directory now belongs to the daemon that follows this one");
}

void KernelsCache::Impl::begin_leaving() {
  std::unique_lock lock(owner_mutex_);
  lock_.announce_leaving();
}

bool KernelsCache::Impl::hand_over_if_wanted() {
  {
    std::shared_lock lock(owner_mutex_);
    if (handed_over_) return true;
    if (!lock_.is_wanted()) return false;
  }
  hand_over();
  return true;
}

void KernelsCache::Impl::hand_over() {
  flush();
  std::unique_lock owner(owner_mutex_);
  std::lock_guard write(write_mutex_);
  std::unique_lock index(index_mutex_);
  handed_over_ = true;
  index_.reset();
  lock_.release();
}

}  // namespace hearth::cache
