#include "hearth/jit.h"

#include <algorithm>
#include <condition_variable>
#include <optional>

#include "base/fork.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {

std::string JitCache::key_of(std::span<const ArrayView> arrays, const std::string& scalars) const {
  std::string key = str_cat(options_.config.device, "|", scalars.size(), "|", scalars);
  for (const ArrayView& array : arrays) {
    str_append(&key, "|", dtype_name(array.dtype));
    for (std::int64_t length : array.shape) str_append(&key, ",", length);
  }
  return key;
}

struct JitCache::Flight {
  std::string key;
  std::condition_variable landed;
  bool is_over = false;
  std::optional<absl::StatusOr<TracedFunction>> result;  // none when the function threw
  const std::uint32_t generation = runtime::fork_generation();
};

// Null: the function threw, and whoever waited tries for himself.
void JitCache::land(Flight& flight, const absl::StatusOr<TracedFunction>* result) {
  const std::lock_guard lock(mutex_);
  if (result != nullptr) flight.result = *result;
  flight.is_over = true;
  flight.landed.notify_all();
  if (const auto at = flights_.find(flight.key); at != flights_.end() && at->second.get() == &flight) {
    flights_.erase(at);
  }
  if (result == nullptr || !result->ok()) return;
  ++stats_.traces;
  entries_.push_front({flight.key, **result});
  by_key_[flight.key] = entries_.begin();
  while (entries_.size() > std::max<std::size_t>(1, options_.capacity)) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
    ++stats_.evictions;
  }
}

absl::StatusOr<TracedFunction> JitCache::find_or_trace(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                                       const std::string& scalars, Loc loc) {
  std::unique_lock lock(mutex_);
  const PrepareConfig config = options_.config;
  const std::string key = key_of(arrays, scalars);
  for (;;) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      ++stats_.hits;
      return entries_.front().function;
    }
    const auto other = flights_.find(key);
    // In a forked child nobody goes on with what the parent's threads had begun.
    if (other == flights_.end() || other->second->generation != runtime::fork_generation()) break;
    const std::shared_ptr<Flight> flight = other->second;
    flight->landed.wait(lock, [&] { return flight->is_over; });
    if (!flight->result) continue;
    if (flight->result->ok()) ++stats_.hits;
    return *flight->result;
  }
  const auto flight = std::make_shared<Flight>();
  flight->key = key;
  flights_[key] = flight;
  lock.unlock();
  try {
    absl::StatusOr<TracedGraph> graph = absl::UnknownError("not traced");
    {
      const std::lock_guard turn(trace_mutex_);
      graph = trace_graph(fn, arrays, loc);
    }
    absl::StatusOr<TracedFunction> traced =
        graph.ok() ? prepare_traced(*std::move(graph), arrays, config) : graph.status();
    land(*flight, &traced);
    return traced;
  } catch (...) {
    land(*flight, nullptr);
    throw;
  }
}

absl::StatusOr<std::vector<Array>> JitCache::call(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                                  const std::string& scalars, Loc loc) {
  if (Tracer::active()) {
    return absl::FailedPreconditionError(
        "a jitted function is called while this thread traces: traces do not nest; call the function itself");
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    HEARTH_RETURN_IF_ERROR(check_array(arrays[i], str_cat("argument ", i)));
  }
  HEARTH_ASSIGN_OR_RETURN(const TracedFunction function, find_or_trace(fn, arrays, scalars, loc));
  return function(arrays);
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
