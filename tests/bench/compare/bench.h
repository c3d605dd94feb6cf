// What the C++ programs of tests/bench/compare share: memory in huge pages, the timing loop and the line of JSON.
// A program is `NAME WORK THREADS [SECONDS]`; it lists the variants in which a peer can do the work, times each and
// prints the best one. Warm-up and first touch are not counted. One thread calls this; errors end the program.
//
//   Variants work(const std::string& name, int threads) { return {{"plain", [] { /* once */ }}}; }
//   int main(int argc, char** argv) { return hearth::compare::bench_main(argc, argv, work); }
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hearth::compare {

// `count` floats on 2 MiB boundaries with huge pages advised, filled with seeded values in [-1, 1).
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) {
    const std::size_t num_bytes = (std::max<std::size_t>(count * sizeof(float), 1) + kHuge - 1) / kHuge * kHuge;
    void* memory = std::aligned_alloc(kHuge, num_bytes);
    if (memory == nullptr) std::abort();
    madvise(memory, num_bytes, MADV_HUGEPAGE);
    data_.reset(static_cast<float*>(memory));
    static unsigned state = 1;
    for (std::size_t i = 0; i < num_bytes / sizeof(float); ++i) {
      state = state * 1664525U + 1013904223U;
      data_[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
    }
  }
  float* data() const { return data_.get(); }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t count_;
};

struct Variant {
  std::string name;
  std::function<void()> run;
  double amount = 0;  // flops or bytes a run, where the program knows it
};
using Variants = std::vector<Variant>;

struct Figure {
  double min_us = 0;
  double p50_us = 0;
  std::size_t repeats = 0;
};

inline Figure measure(const std::function<void()>& run, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto since_us = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  const auto began = Clock::now();
  for (int i = 0; i < 3 || since_us(began) < seconds * 0.25e6; ++i) run();
  std::vector<double> times_us;
  const auto start = Clock::now();
  while (times_us.size() < 5 || (since_us(start) < seconds * 1e6 && times_us.size() < 200000)) {
    const auto one = Clock::now();
    run();
    times_us.push_back(since_us(one));
  }
  std::sort(times_us.begin(), times_us.end());
  return {times_us.front(), times_us[times_us.size() / 2], times_us.size()};
}

// Times every variant and prints the best.
inline void report(const std::string& name, int threads, double seconds, const Variants& variants) {
  const Variant* best = nullptr;
  Figure figure;
  for (const Variant& variant : variants) {
    const Figure one = measure(variant.run, seconds / static_cast<double>(variants.size()));
    if (best == nullptr || one.p50_us < figure.p50_us) {
      best = &variant;
      figure = one;
    }
  }
  if (best == nullptr) throw std::runtime_error("there is no such work");
  std::printf(
      "{\"work\": \"%s\", \"threads\": %d, \"config\": \"%s\", \"min_us\": %.4f, \"p50_us\": %.4f, "
      "\"repeats\": %zu, \"amount\": %.0f}\n",
      name.c_str(), threads, best->name.c_str(), figure.min_us, figure.p50_us, figure.repeats, best->amount);
}

inline int bench_main(int argc, char** argv, Variants (*work)(const std::string& name, int threads)) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s WORK THREADS [SECONDS]\n", argv[0]);
    return 2;
  }
  try {
    const int threads = std::atoi(argv[2]);
    report(argv[1], threads, argc > 3 ? std::atof(argv[3]) : 0.3, work(argv[1], threads));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1], error.what());
    return 1;
  }
}

// The number after `prefix` in "matmul_512"; 0 when `name` does not begin with it.
inline int number_after(const std::string& name, const char* prefix) {
  return name.rfind(prefix, 0) == 0 ? std::atoi(name.c_str() + std::strlen(prefix)) : 0;
}

}  // namespace hearth::compare
