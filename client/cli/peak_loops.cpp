#include "client/cli/peak_loops.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTime{20};
constexpr int kRounds = 4;

// Operations and bytes of one call.
struct Work {
  double ops = 0, bytes = 0;
};

// Read at a time, beside which asking the clock is nothing.
constexpr std::uint64_t kBlock = std::uint64_t{256} << 10;
constexpr std::size_t kAlignment = 4096;  // of what is read; a multiple of what a turn of the loops reads
constexpr int kTurns = 2'000;             // a call takes about 10 us: the clock is asked rarely
constexpr int kChains = 12;               // two units, four to six cycles of latency each

// What the loops leave goes here, so that they cannot be left out.
template <typename T>
void keep(T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) Work arithmetic_512() {
  __m512 sums[kChains], factor = _mm512_set1_ps(0.5F), addend = _mm512_set1_ps(1.0F);
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = _mm512_fmadd_ps(sums[k], factor, addend);
  }
  for (__m512& sum : sums) keep(sum);
  return {2.0 * 16 * kChains * kTurns, 0};
}
__attribute__((target("avx2,fma"))) Work arithmetic_256() {
  __m256 sums[kChains], factor = _mm256_set1_ps(0.5F), addend = _mm256_set1_ps(1.0F);
  for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = _mm256_fmadd_ps(sums[k], factor, addend);
  }
  for (__m256& sum : sums) keep(sum);
  return {2.0 * 8 * kChains * kTurns, 0};
}
Work arithmetic_128() {
  __m128 sums[kChains], factor = _mm_set1_ps(0.5F), addend = _mm_set1_ps(1.0F);
  for (__m128& sum : sums) sum = _mm_set1_ps(1.0F);
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = _mm_add_ps(_mm_mul_ps(sums[k], factor), addend);
  }
  for (__m128& sum : sums) keep(sum);
  return {2.0 * 4 * kChains * kTurns, 0};
}
Work arithmetic() {
  if (__builtin_cpu_supports("avx512f")) return arithmetic_512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return arithmetic_256();
  return arithmetic_128();
}

__attribute__((target("avx512f"))) Work reading_512(const char* from, std::size_t bytes) {
  __m512i sums[8];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (std::size_t at = 0; at < bytes; at += sizeof(sums)) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) sums[k] = _mm512_or_si512(sums[k], _mm512_load_si512(from + at + 64 * k));
  }
  for (__m512i& sum : sums) keep(sum);
  return {0, static_cast<double>(bytes)};
}
__attribute__((target("avx2"))) Work reading_256(const char* from, std::size_t bytes) {
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (std::size_t at = 0; at < bytes; at += sizeof(sums)) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      sums[k] = _mm256_or_si256(sums[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(from + at + 32 * k)));
    }
  }
  for (__m256i& sum : sums) keep(sum);
  return {0, static_cast<double>(bytes)};
}
#elif defined(__aarch64__)
Work arithmetic() {
  float32x4_t sums[kChains], factor = vdupq_n_f32(0.5F), addend = vdupq_n_f32(1.0F);
  for (float32x4_t& sum : sums) sum = addend;
  for (int i = 0; i < kTurns; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = vfmaq_f32(addend, sums[k], factor);
  }
  for (float32x4_t& sum : sums) keep(sum);
  return {2.0 * 4 * kChains * kTurns, 0};
}
#else
Work arithmetic() {
  float sums[kChains];
  std::fill(std::begin(sums), std::end(sums), 1.0F);
  for (int i = 0; i < kTurns; ++i) {
    for (float& sum : sums) sum = sum * 0.5F + 1.0F;
  }
  keep(sums);
  return {2.0 * kChains * kTurns, 0};
}
#endif

// In vectors that every processor of the architecture has.
Work reading_128(const char* from, std::size_t bytes) {
  using Vector [[gnu::vector_size(16)]] = std::int32_t;
  Vector sums[16] = {};
  for (std::size_t at = 0; at < bytes; at += sizeof(sums)) {
#pragma GCC unroll 16
    for (std::size_t k = 0; k < 16; ++k) sums[k] |= *reinterpret_cast<const Vector*>(from + at + 16 * k);
  }
  keep(sums);
  return {0, static_cast<double>(bytes)};
}

Work reading(const char* from, std::size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return reading_512(from, bytes);
  if (__builtin_cpu_supports("avx2")) return reading_256(from, bytes);
#endif
  return reading_128(from, bytes);
}

// `prepare()` on each thread, then `work()` again and again on all of them at the same time: what they do a second,
// together, of the fastest round.
template <typename Prepare>
double fastest(std::uint32_t threads, double Work::* what, const Prepare& prepare) {
  std::vector<std::vector<double>> rates(threads, std::vector<double>(kRounds));
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  const auto run = [&](std::uint32_t thread) {
    auto work = prepare();
    for (double& rate : rates[thread]) {
      start.arrive_and_wait();
      const Clock::time_point begin = Clock::now();
      double done = 0;
      Clock::time_point now = begin;
      while (now - begin < kTime) {
        done += work().*what;
        now = Clock::now();
      }
      rate = done / std::chrono::duration<double>(now - begin).count();
    }
  };
  std::vector<std::thread> others;
  for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back(run, i);
  run(0);
  for (std::thread& other : others) other.join();
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0;
    for (const auto& of_thread : rates) sum += of_thread[static_cast<std::size_t>(round)];
    best = std::max(best, sum);
  }
  return best;
}

}  // namespace

double peak_flops(std::uint32_t threads) {
  return fastest(threads, &Work::ops, [] { return arithmetic; });
}

double read_bytes_per_s(std::uint32_t threads, std::uint64_t bytes) {
  bytes = std::max<std::uint64_t>(bytes / kAlignment * kAlignment, kAlignment);
  return fastest(threads, &Work::bytes, [bytes] {
    const std::shared_ptr<char[]> memory(static_cast<char*>(std::aligned_alloc(kAlignment, bytes)),
                                         [](char* data) { std::free(data); });
    if (memory != nullptr) std::memset(memory.get(), 1, bytes);
    return [memory, bytes, at = std::uint64_t{0}]() mutable {
      if (memory == nullptr) return Work{};
      const std::uint64_t from = at, size = std::min(kBlock, bytes - from);
      at = from + size == bytes ? 0 : from + size;
      return reading(memory.get() + from, size);
    };
  });
}

}  // namespace hearth::cli
