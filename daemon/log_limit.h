// LogLimit: lets one line a minute of each key through and counts the others, so that who can cause a line cannot fill
// the log. Thread-safe; keeps the latest kMaxKeys. Example:
//   if (const auto times = limit.count(pid)) spdlog::warn("refused process {} ({} times)", pid, *times);
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace hearth::daemon {

class LogLimit {
 public:
  static constexpr std::size_t kMaxKeys = 1'024;

  explicit LogLimit(Clock::duration every = std::chrono::minutes(1)) : every_(every) {}

  // One more of `key`: how many there were since the last line, this one among them, if it is to be told.
  std::optional<std::uint64_t> count(std::uint64_t key, Clock::time_point now = Clock::machine().now()) {
    std::lock_guard lock(mutex_);
    ++total_;
    if (keys_.size() >= kMaxKeys && keys_.count(key) == 0)
      std::erase_if(keys_, [&](const auto& entry) { return now - entry.second.told >= every_; });
    if (keys_.size() >= kMaxKeys && keys_.count(key) == 0) return std::nullopt;  // more keys than lines are worth
    Key& entry = keys_[key];
    ++entry.untold;
    if (entry.has_told && now - entry.told < every_) return std::nullopt;
    entry.has_told = true;
    entry.told = now;
    return std::exchange(entry.untold, 0);
  }
  std::uint64_t total() const {
    std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  struct Key {
    Clock::time_point told{};
    std::uint64_t untold = 0;
    bool has_told = false;
  };

  const Clock::duration every_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Key> keys_;
  std::uint64_t total_ = 0;
};

}  // namespace hearth::daemon
