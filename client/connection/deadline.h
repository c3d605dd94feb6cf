// What is left until a deadline.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hearth::client {

// As poll() takes it: at most an hour, at least 0; -1, which is for ever, for the latest point there is.
inline int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  if (deadline == std::chrono::steady_clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace hearth::client
