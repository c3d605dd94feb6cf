#include "daemon/async/executor.h"

#include <utility>

namespace hearth::daemon {

Executor::Executor(unsigned num_threads) {
  for (unsigned i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run(); });
}

Executor::~Executor() { stop(); }

void Executor::post_for(const ClientId& client, std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) {
      std::deque<std::function<void()>>& own = tasks_[client];
      if (own.empty()) turns_.push_back(client);
      own.push_back(std::move(task));
      changed_.notify_one();
      return;
    }
  }
  task();
}

void Executor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Executor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !turns_.empty(); });
    if (turns_.empty()) return;
    const ClientId client = turns_.front();
    turns_.pop_front();
    const auto own = tasks_.find(client);
    std::function<void()> task = std::move(own->second.front());
    own->second.pop_front();
    if (own->second.empty()) {
      tasks_.erase(own);
    } else {
      turns_.push_back(client);
    }
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace hearth::daemon
