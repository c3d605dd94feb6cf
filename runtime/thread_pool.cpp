#include "runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>

#include "base/fork.h"
#include "runtime/float_mode.h"

namespace hearth::runtime {
namespace {

constexpr int kSpins = 2000;  // some 20 to 60 microseconds, the gap between two launches of a plan
constexpr int kSpinsPerLook = 32;
constexpr std::uint32_t kRunsPerQuestion = 64;  // to a worker on the caller's own core
constexpr std::int64_t kPieces = 8;             // of a part

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns once `value` differs from `old`. Spins while `other_has_a_core` of its own.
template <class F>
void await_change(std::atomic<std::uint32_t>& value, std::uint32_t old, F other_has_a_core) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    if (i % kSpinsPerLook == 0 && !other_has_a_core()) break;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads, Subnormals subnormals) : subnormals_(subnormals) { start(threads - 1); }

void ThreadPool::start(int workers) {
  generation_ = fork_generation();
  for (int i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>());
  for (auto& worker : workers_) worker->thread = std::thread([this, &worker = *worker] { work(worker); });
}

// The threads are the parent's: they can be neither joined nor detached here.
void ThreadPool::leave_to_parent() {
  for (auto& worker : workers_) static_cast<void>(worker.release());
  workers_.clear();
}

ThreadPool::~ThreadPool() {
  if (generation_ != fork_generation()) leave_to_parent();
  stop_.store(true, std::memory_order_relaxed);
  for (auto& worker : workers_) {
    worker->job.fetch_add(1, std::memory_order_release);
    worker->job.notify_one();
  }
  for (auto& worker : workers_) worker->thread.join();
}

// Whoever succeeds does the part.
bool ThreadPool::take(Worker& worker, std::uint32_t offer) {
  return worker.job.compare_exchange_strong(offer, offer + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void ThreadPool::work(Worker& worker) {
  const FloatModeScope mode(subnormals_);
  std::uint32_t seen = 1;
  for (;;) {
    await_change(worker.job, seen, [&] { return sched_getcpu() != caller_cpu_.load(std::memory_order_relaxed); });
    seen = worker.job.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    worker.cpu.store(sched_getcpu(), std::memory_order_relaxed);  // also when it came too late: it may have moved
    if (seen % 2 != 0 || !take(worker, seen)) continue;           // taken back
    ++seen;
    finish(worker.part);
    finish(own_);
    for (std::size_t i = 0; i < num_offered_; ++i) finish(workers_[i]->part);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

// Whatever nobody has taken of it.
void ThreadPool::finish(Part& part) const {
  while (part.next.load(std::memory_order_relaxed) < part.end) {
    const std::int64_t begin = part.next.fetch_add(piece_, std::memory_order_relaxed);
    if (begin < part.end) task_(context_, begin, std::min(begin + piece_, part.end));
  }
}

std::int64_t ThreadPool::num_parts(std::int64_t units, std::int64_t min_units_per_thread, int threads) {
  return std::clamp<std::int64_t>(units / std::max<std::int64_t>(1, min_units_per_thread), 1, std::max(1, threads));
}

void ThreadPool::run(std::int64_t units, std::int64_t min_units_per_thread, Task task, void* context) {
  const std::int64_t parts = num_parts(units, min_units_per_thread, threads());
  if (parts == 1) {
    if (units > 0) task(context, 0, units);
    return;
  }
  if (generation_ != fork_generation()) {
    const int workers = threads() - 1;
    leave_to_parent();
    start(workers);
  }
  task_ = task;
  context_ = context;
  const int cpu = sched_getcpu();
  caller_cpu_.store(cpu, std::memory_order_relaxed);
  ++num_runs_;
  unfinished_.store(static_cast<std::uint32_t>(parts - 1), std::memory_order_relaxed);
  const std::int64_t share = units / parts, left_over = units % parts;
  piece_ = std::max({min_units_per_thread, share / kPieces, std::int64_t{1}});
  num_offered_ = static_cast<std::size_t>(parts - 1);
  std::int64_t begin = share + (left_over > 0);  // the caller's part is [0, begin)
  own_.next.store(0, std::memory_order_relaxed);
  own_.end = begin;
  for (std::int64_t part = 1; part < parts; ++part) {
    Part& offered = workers_[static_cast<std::size_t>(part - 1)]->part;
    offered.next.store(begin, std::memory_order_relaxed);
    offered.end = begin += share + (part < left_over);
  }
  for (std::int64_t part = 1; part < parts; ++part) {
    Worker& worker = *workers_[static_cast<std::size_t>(part - 1)];
    // One that shares the caller's core would only take turns with it.
    worker.asked = worker.cpu.load(std::memory_order_relaxed) != cpu || num_runs_ % kRunsPerQuestion == 0;
    if (!worker.asked) continue;
    worker.job.fetch_add(1, std::memory_order_release);
    worker.job.notify_one();
  }
  finish(own_);
  bool has_a_core = true;
  for (std::int64_t part = parts - 1; part > 0; --part) {
    Worker& worker = *workers_[static_cast<std::size_t>(part - 1)];
    const std::uint32_t offer = worker.job.load(std::memory_order_relaxed);
    if (worker.asked && (offer % 2 != 0 || !take(worker, offer))) {  // it has begun
      has_a_core &= worker.cpu.load(std::memory_order_relaxed) != cpu;
    } else {
      unfinished_.fetch_sub(1, std::memory_order_relaxed);
    }
    finish(worker.part);
  }
  for (std::uint32_t left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    await_change(unfinished_, left, [&] { return has_a_core; });
  }
}

}  // namespace hearth::runtime
