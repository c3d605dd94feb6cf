// Histogram: how long things took, counted in buckets of a fixed scale, as Prometheus has them. Value type; no locks.
//
//   Histogram queue;
//   queue.add(std::chrono::steady_clock::now() - job.queued_at);
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace hearth::daemon {

struct Histogram {
  // Upper bounds in seconds, a hit's microseconds to a blob's minutes; what takes longer has a bucket of its own.
  static constexpr std::array<double, 16> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05,
                                                     0.1,    0.25,    0.5,    1,     5,      15,    60,   300};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // of each bucket alone
  double seconds = 0;                                      // the sum of all

  template <class Rep, class Period>
  void add(std::chrono::duration<Rep, Period> time) {
    const double took = std::max(0.0, std::chrono::duration<double>(time).count());
    ++counts[static_cast<std::size_t>(std::lower_bound(kBounds.begin(), kBounds.end(), took) - kBounds.begin())];
    seconds += took;
  }
};

}  // namespace hearth::daemon
