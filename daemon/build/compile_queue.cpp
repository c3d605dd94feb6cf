#include "daemon/build/compile_queue.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace hearth::daemon {

namespace {

// What callers ask for directly: there is no end to it.
bool is_bounded(const v1::WorkerRequest& request) { return request.has_lower() || request.has_blob(); }

}  // namespace

std::deque<CompileJob>& CompileQueue::lane_of(const v1::WorkerRequest& request) {
  if (is_bounded(request)) return lowerings_;
  return request.has_compile() || request.has_toolchain() ? kernels_ : tuning_;
}

absl::Status CompileQueue::push(CompileJob& job) {
  std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the daemon is shutting down");
  if (is_bounded(job.request) && lowerings_.size() >= max_lowerings_) {
    return absl::ResourceExhaustedError(absl::StrCat("the compile queue is full (", max_lowerings_,
                                                     job.request.has_blob() ? " blobs" : " graphs", " wait)"));
  }
  lane_of(job.request).push_back(std::move(job));
  changed_.notify_one();
  return absl::OkStatus();
}

std::optional<CompileJob> CompileQueue::pop(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wakes = wakes_;
  changed_.wait_for(lock, timeout, [&] {
    return closed_ || wakes != wakes_ || !kernels_.empty() || !lowerings_.empty() || !tuning_.empty();
  });
  for (std::deque<CompileJob>* lane : {&kernels_, &lowerings_, &tuning_}) {
    if (lane->empty()) continue;
    std::optional<CompileJob> job = std::move(lane->front());
    lane->pop_front();
    return job;
  }
  return std::nullopt;
}

std::optional<CompileJob> CompileQueue::remove(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  for (std::deque<CompileJob>* lane : {&kernels_, &lowerings_, &tuning_}) {
    for (auto it = lane->begin(); it != lane->end(); ++it) {
      if (it->id != id) continue;
      std::optional<CompileJob> job = std::move(*it);
      lane->erase(it);
      return job;
    }
  }
  return std::nullopt;
}

void CompileQueue::wake() {
  std::lock_guard lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

void CompileQueue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::size_t CompileQueue::size() const {
  std::lock_guard lock(mutex_);
  return kernels_.size() + lowerings_.size() + tuning_.size();
}

}  // namespace hearth::daemon
