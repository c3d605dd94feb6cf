// JobList: the jobs that a build has under way, so that none outlives it: after cancel_all() a job that is added is
// cancelled at once. That happens: a build may end on another thread between a job's start and its being added.
// Thread-safe; cancels without holding its lock. Example:
//   JobList<BlobBuilder::Job> jobs;
//   jobs.add(builder.compile(request, caller));
//   jobs.cancel_all();                            // the build has ended
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hearth::daemon {

template <class Job>
class JobList {
 public:
  void add(std::shared_ptr<Job> job) {
    {
      std::lock_guard lock(mutex_);
      if (!ended_) {
        jobs_.push_back(std::move(job));
        return;
      }
    }
    job->cancel();
  }

  void cancel_all() {
    std::vector<std::shared_ptr<Job>> jobs;
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
      jobs.swap(jobs_);
    }
    for (const auto& job : jobs) job->cancel();
  }

  // Visits the jobs that are there now, without holding the lock.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::vector<std::shared_ptr<Job>> jobs;
    {
      std::lock_guard lock(mutex_);
      jobs = jobs_;
    }
    for (const auto& job : jobs) visit(*job);
  }

  // Lets go of jobs that have been answered.
  void clear() {
    std::vector<std::shared_ptr<Job>> jobs;
    std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }

 private:
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<std::shared_ptr<Job>> jobs_;
};

}  // namespace hearth::daemon
