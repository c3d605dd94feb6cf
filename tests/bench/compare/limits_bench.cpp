// The limits of this machine, to hold the table against: fma, read (64 MiB), copy (64 MiB each way, non-temporal),
// chain5 (relu(a·b+c)·d+e over 16M, written by hand, non-temporal) and handoff (one word, thread to thread and back;
// the figure is one way). Work is cut evenly over THREADS threads, each on its own CPU, which meet by spinning.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "tests/bench/compare/bench.h"

namespace {

using hearth::compare::Array;
using hearth::compare::Variant;
using hearth::compare::Variants;

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,fma")
namespace avx512 {
#define VECTOR_FLOATS 16
#define STREAM(address, vector) _mm512_stream_ps(address, reinterpret_cast<__m512>(vector))
#include "tests/bench/compare/limits_kernels.inc"
#undef VECTOR_FLOATS
#undef STREAM
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#define VECTOR_FLOATS 8
#define STREAM(address, vector) _mm256_stream_ps(address, reinterpret_cast<__m256>(vector))
#include "tests/bench/compare/limits_kernels.inc"
#undef VECTOR_FLOATS
#undef STREAM
}  // namespace avx2
#pragma GCC pop_options

struct Kernels {
  std::string name;
  std::size_t lanes;
  float (*multiply_add)(std::size_t);
  std::vector<std::pair<std::string, float (*)(const float*, std::size_t)>> reads;
  void (*copy)(const float*, float*, std::size_t);
  void (*chain5)(const float* const*, float*, std::size_t);
};

#define KERNELS(set)                                   \
  Kernels {                                            \
    #set, set::kLanes, set::multiply_add,              \
        {{"1 stream", set::read<1, 0>},                \
         {"1 stream, prefetch", set::read<1, 1024>},   \
         {"4 streams", set::read<4, 0>},               \
         {"4 streams, prefetch", set::read<4, 1024>}}, \
        set::copy, set::chain5                         \
  }

Kernels kernels() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return KERNELS(avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return KERNELS(avx2);
  throw std::runtime_error("this CPU has neither AVX-512 nor AVX2 with FMA");
}

void pin(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

// Threads that spin between parts; never ended: the program ends instead.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {
    for (int t = 1; t < threads; ++t) {
      std::thread([this, t] {
        pin(t);
        for (std::size_t seen = 0;;) {
          while (round_.load(std::memory_order_acquire) == seen) _mm_pause();
          ++seen;
          part_(t);
          done_.fetch_add(1, std::memory_order_release);
        }
      }).detach();
    }
    if (threads > 1) pin(0);
  }
  void run(const std::function<void(int)>& part) {
    part_ = part;
    done_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    part(0);
    while (done_.load(std::memory_order_acquire) != threads_ - 1) _mm_pause();
  }

 private:
  int threads_;
  std::function<void(int)> part_;
  alignas(64) std::atomic<std::size_t> round_{0};
  alignas(64) std::atomic<int> done_{0};
};

constexpr std::size_t kCount = std::size_t{1} << 24;
constexpr double kArrayBytes = static_cast<double>(kCount * sizeof(float));
constexpr int kHandoffs = 20000;

volatile float g_sink;

Variants fma_work(const Kernels& k, Team& team, int threads) {
  constexpr std::size_t kSteps = 200000;
  const double flops = static_cast<double>(kSteps * 12 * 2 * k.lanes) * threads;
  return {{k.name, [&team, k] { team.run([&k](int) { g_sink = k.multiply_add(kSteps); }); }, flops}};
}

Variants read_work(const Kernels& k, Team& team, std::size_t part) {
  auto from = std::make_shared<Array>(kCount);
  Variants variants;
  for (const auto& [name, read] : k.reads) {
    variants.push_back({k.name + ", " + name,
                        [&team, part, from, read = read] {
                          team.run(
                              [&](int t) { g_sink = read(from->data() + static_cast<std::size_t>(t) * part, part); });
                        },
                        kArrayBytes});
  }
  return variants;
}

Variants copy_work(const Kernels& k, Team& team, std::size_t part) {
  auto from = std::make_shared<Array>(kCount);
  auto to = std::make_shared<Array>(kCount);
  return {{k.name,
           [=, &team] {
             team.run([&](int t) {
               const std::size_t at = static_cast<std::size_t>(t) * part;
               k.copy(from->data() + at, to->data() + at, part);
             });
           },
           2 * kArrayBytes}};
}

Variants chain5_work(const Kernels& k, Team& team, std::size_t part) {
  auto arrays = std::make_shared<std::vector<Array>>();
  for (int i = 0; i < 6; ++i) arrays->emplace_back(kCount);
  return {{k.name,
           [=, &team] {
             team.run([&](int t) {
               const std::size_t at = static_cast<std::size_t>(t) * part;
               const float* in[5];
               for (std::size_t i = 0; i < 5; ++i) in[i] = (*arrays)[i].data() + at;
               k.chain5(in, (*arrays)[5].data() + at, part);
             });
           },
           6 * kArrayBytes}};
}

// The time printed is of 2 × kHandoffs hand-offs, `amount` their number.
Variants handoff_work(Team& team) {
  struct alignas(64) Word {
    std::atomic<int> value{0};
  };
  auto word = std::make_shared<Word>();
  return {{"spin",
           [&team, word] {
             word->value = 0;
             team.run([&](int t) {
               for (int i = 0; i < kHandoffs; ++i) {
                 while (word->value.load(std::memory_order_acquire) != 2 * i + t) {
                 }
                 word->value.store(2 * i + t + 1, std::memory_order_release);
               }
             });
           },
           2.0 * kHandoffs}};
}

Variants work(const std::string& name, int threads) {
  threads = name == "handoff" ? 2 : std::max(threads, 1);
  Team& team = *new Team(threads);
  const Kernels k = kernels();
  // A part is whole vectors of every kernel; what does not divide is left out of the few counts that have a rest.
  const std::size_t part = kCount / static_cast<std::size_t>(threads) / 1024 * 1024;
  if (name == "fma") return fma_work(k, team, threads);
  if (name == "read") return read_work(k, team, part);
  if (name == "copy") return copy_work(k, team, part);
  if (name == "chain5") return chain5_work(k, team, part);
  if (name == "handoff") return handoff_work(team);
  return {};
}

}  // namespace

int main(int argc, char** argv) { return hearth::compare::bench_main(argc, argv, work); }
