#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace hearth::runtime {
namespace {

std::atomic<std::uint32_t> generation{0};

// Never destroyed: a process may fork while it ends.
struct Descriptors {
  std::mutex mutex;  // held over a fork, so that the child finds the list whole
  std::vector<int> open;
};
Descriptors& descriptors() {
  static auto* const all = new Descriptors;
  return *all;
}

void before_fork() { descriptors().mutex.lock(); }
void after_fork_in_parent() { descriptors().mutex.unlock(); }
// Makes async-signal-safe calls only: other threads may have held any lock but ours.
void after_fork_in_child() {
  for (const int fd : descriptors().open) close(fd);
  descriptors().open.clear();
  generation.fetch_add(1, std::memory_order_relaxed);
  descriptors().mutex.unlock();
}

// Before main(), when no other thread can be in the middle of it while one forks.
[[maybe_unused]] const int watching =
    (descriptors(), pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child));

}  // namespace

std::uint32_t fork_generation() { return generation.load(std::memory_order_relaxed); }

void close_on_fork(int fd) {
  const std::lock_guard lock(descriptors().mutex);
  descriptors().open.push_back(fd);
}

void forget_close_on_fork(int fd) {
  const std::lock_guard lock(descriptors().mutex);
  std::erase(descriptors().open, fd);
}

}  // namespace hearth::runtime
