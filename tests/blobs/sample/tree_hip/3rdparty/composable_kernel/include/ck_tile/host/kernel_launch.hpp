// HIP flavour: kernels are launched on the stream; what the runtime says is thrown, as ComposableKernel does.
#pragma once
#include "ck_tile/core.hpp"
#include "ck_tile/host/stream_config.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

namespace ck_tile {

template <index_t kMaxThreads, index_t kMinBlockPerCu, typename Kernel, typename Kargs>
__launch_bounds__(kMaxThreads, kMinBlockPerCu) __global__ void kentry(Kargs kargs) {
  Kernel{}(block_context{blockIdx.x, blockIdx.y, blockIdx.z, static_cast<int>(threadIdx.x)}, kargs);
}

inline void check_launch(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  throw std::runtime_error(std::string("HIP: ") + what + ": " + hipGetErrorString(status) + " (" +
                           std::to_string(static_cast<int>(status)) + ")");
}

#if CK_TILE_GENERATION >= 2026
template <index_t kMinBlockPerCu, typename Arch, typename Kernel, typename Kargs>
auto make_kernel(Kernel, dim3 grid, dim3 block, std::size_t shared_bytes, Kargs kargs) {
  constexpr index_t kMaxThreads = static_cast<index_t>(Kernel::BlockSize().x);
#else
template <index_t kMaxThreads, index_t kMinBlockPerCu, typename Kernel, typename Kargs>
auto make_kernel(Kernel, dim3 grid, dim3 block, std::size_t shared_bytes, Kargs kargs) {
#endif
  return [=](const stream_config& s) {
    kentry<kMaxThreads, kMinBlockPerCu, Kernel><<<grid, block, shared_bytes, s.stream_id_>>>(kargs);
    check_launch(hipGetLastError(), "launch");
  };
}

// Runs the callables in order; milliseconds of a round when `s` asks for timing, else 0.
template <typename... Callables>
float launch_kernel(const stream_config& s, Callables... callables) {
  if (!s.time_kernel_) {
    (callables(s), ...);
    return 0.f;
  }
  for (int i = 0; i < s.cold_niters_; ++i) (callables(s), ...);
  check_launch(hipStreamSynchronize(s.stream_id_), "synchronise");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < s.nrepeat_; ++i) (callables(s), ...);
  check_launch(hipStreamSynchronize(s.stream_id_), "synchronise");
  const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<float>(s.nrepeat_ < 1 ? 1 : s.nrepeat_);
}

}  // namespace ck_tile
