#include "client/jit_function.h"

#include <algorithm>

#include "runtime/text.h"

namespace hearth::client {

std::string JitCache::key_of(std::span<const ArrayView> arrays, const std::string& scalars) const {
  std::string key = str_cat(options_.config.device, "|", scalars.size(), "|", scalars);
  for (const ArrayView& array : arrays) {
    str_append(&key, "|", dtype_name(array.dtype));
    for (std::int64_t length : array.shape) str_append(&key, ",", length);
  }
  return key;
}

absl::StatusOr<TracedFunction> JitCache::find_or_trace(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                                       const std::string& scalars, Loc loc) {
  // Tracing under the lock: callers of the same new shape wait for one trace instead of making many.
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(arrays, scalars);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    ++stats_.hits;
    return entries_.front().function;
  }
  absl::StatusOr<TracedFunction> traced = trace_function(fn, arrays, options_.config, loc);
  if (!traced.ok()) return traced.status();
  ++stats_.traces;
  entries_.push_front({key, *traced});
  by_key_[key] = entries_.begin();
  while (entries_.size() > std::max<std::size_t>(1, options_.capacity)) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
    ++stats_.evictions;
  }
  return traced;
}

absl::StatusOr<std::vector<Array>> JitCache::call(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                                  const std::string& scalars, Loc loc) {
  if (Tracer::active()) {
    return absl::FailedPreconditionError(
        "a jitted function is called while this thread traces: traces do not nest; call the function itself");
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (absl::Status checked = check_array(arrays[i], str_cat("argument ", i)); !checked.ok()) return checked;
  }
  const absl::StatusOr<TracedFunction> function = find_or_trace(fn, arrays, scalars, loc);
  if (!function.ok()) return function.status();
  return (*function)(arrays);
}

void JitCache::set_device(const std::string& device) {
  const std::lock_guard lock(mutex_);
  options_.config.device = device;
}

JitStats JitCache::stats() const {
  const std::lock_guard lock(mutex_);
  JitStats stats = stats_;
  stats.plans = entries_.size();
  return stats;
}

}  // namespace hearth::client
