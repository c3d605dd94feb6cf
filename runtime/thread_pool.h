// ThreadPool: fork-join over [0, units). run() divides the range into equal contiguous parts, one a thread, the first
// for the calling thread, and returns when all are done. A part is done piece by piece (an eighth, but no less than
// min_units_per_thread): who has finished his own takes pieces of the others', so that a launch waits for a slower
// core, or for one that other processes use, no longer than a piece. Workers spin briefly for the next job, then park.
// Nobody spins for a thread that has the same core, and a worker there is asked now and then only.
// One thread calls run() at a time. run() allocates nothing and takes no lock; with one part it is a direct call.
// In a forked child, which has none of the threads, the first run() starts them anew.
//
//   ThreadPool pool(4);
//   pool.run(units, /*min_units_per_thread=*/64, [](void* context, std::int64_t begin, std::int64_t end) { … }, &job);
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "hearth/subnormals.h"

namespace hearth::runtime {

class ThreadPool {
 public:
  using Task = void (*)(void* context, std::int64_t begin, std::int64_t end);

  // `threads` counts the caller; 1 or less starts none. The others treat subnormal floats as `subnormals` says.
  explicit ThreadPool(int threads, Subnormals subnormals = Subnormals::kKeep);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void run(std::int64_t units, std::int64_t min_units_per_thread, Task task, void* context);

  // How many parts run() makes.
  static std::int64_t num_parts(std::int64_t units, std::int64_t min_units_per_thread, int threads);

 private:
  struct Part {
    std::atomic<std::int64_t> next{0};  // unit that nobody has taken
    std::int64_t end = 0;
  };
  struct alignas(64) Worker {
    // Even: a part is on offer, odd: it was taken. The next offer is the next even number.
    std::atomic<std::uint32_t> job{1};
    std::atomic<int> cpu{-1};  // where it last worked
    Part part;
    bool asked = false;  // for its part; the caller's alone
    std::thread thread;
  };
  void start(int workers);
  void leave_to_parent();
  void work(Worker& worker);
  void finish(Part& part) const;
  static bool take(Worker& worker, std::uint32_t offer);

  const Subnormals subnormals_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::int64_t piece_ = 1;       // units
  std::size_t num_offered_ = 0;  // parts besides the caller's
  std::atomic<bool> stop_{false};
  std::atomic<int> caller_cpu_{-1};
  std::uint32_t num_runs_ = 0;
  std::uint32_t generation_ = 0;                          // base/fork.h, of the threads
  alignas(64) Part own_;                                  // the caller's
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // workers that may be at work
};

}  // namespace hearth::runtime
