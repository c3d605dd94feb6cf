// CPU flavour: a launch runs the blocks of the grid one after the other, in the caller.
#pragma once
#include "ck_tile/core.hpp"
#include "ck_tile/host/stream_config.hpp"

#include <ctime>

namespace ck_tile {

template <typename Kernel, typename Kargs>
auto make_host_kernel(Kernel kernel, dim3 grid, Kargs kargs) {
  return [=](const stream_config&) {
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) kernel(block_context{x, y, z, 0}, kargs);
      }
    }
  };
}

#if CK_TILE_GENERATION >= 2026
template <index_t kMinBlockPerCu, typename Arch, typename Kernel, typename Kargs>
#else
template <index_t kMaxThreads, index_t kMinBlockPerCu, typename Kernel, typename Kargs>
#endif
auto make_kernel(Kernel kernel, dim3 grid, dim3, std::size_t, Kargs kargs) {
  return make_host_kernel(kernel, grid, kargs);
}

// Not by <chrono>, which is a sixth of the time that a blob takes to compile.
inline double milliseconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Runs the callables in order; milliseconds of a round when `s` asks for timing, else 0.
template <typename... Callables>
float launch_kernel(const stream_config& s, Callables... callables) {
  if (!s.time_kernel_) {
    (callables(s), ...);
    return 0.f;
  }
  for (int i = 0; i < s.cold_niters_; ++i) (callables(s), ...);
  const double start = milliseconds_now();
  for (int i = 0; i < s.nrepeat_; ++i) (callables(s), ...);
  return static_cast<float>(milliseconds_now() - start) / static_cast<float>(s.nrepeat_ < 1 ? 1 : s.nrepeat_);
}

}  // namespace ck_tile
