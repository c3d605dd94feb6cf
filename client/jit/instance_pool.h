// InstancePool: instances of one plan for calls that come on any thread: each call takes one of its own and gives it
// back. Inside client/ only. Thread-safe. Errors: those of PreparedPlan::instantiate.
//
//   absl::StatusOr<Instance> instance = pool.take();
//   … instance->execute() …
//   pool.give_back(*std::move(instance));
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"

namespace hearth::client {

class InstancePool {
 public:
  explicit InstancePool(PreparedPlan plan) : plan_(std::move(plan)) {}

  const PreparedPlan& plan() const { return plan_; }
  absl::StatusOr<Instance> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Instance instance = std::move(idle_.back());
        idle_.pop_back();
        return instance;
      }
    }
    return plan_.instantiate();
  }
  void give_back(Instance instance) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(instance));
  }

 private:
  const PreparedPlan plan_;
  std::mutex mutex_;
  std::vector<Instance> idle_;  // guarded by mutex_
};

}  // namespace hearth::client
