// Control groups of workers (cgroup v2), where the service manager has delegated the daemon's own to it: the kernel
// then counts a worker's memory and processes itself, with all that it starts, and kills all of them at once.
//
// WorkerCgroups is what the daemon has; it moves the daemon into a group below its own, since processes may only be in
// leaves. Shared, thread-safe. A WorkerCgroup is one worker's; its destructor kills what is left in it and removes it.
//   const std::shared_ptr<WorkerCgroups> cgroups = WorkerCgroups::of_this_process();   // null when not delegated
//   std::unique_ptr<WorkerCgroup> group = cgroups->make({.memory_bytes = 4ull << 30, .tasks = 256});
//   if (group) group->add(pid);
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace hearth::daemon {

class WorkerCgroup {
 public:
  explicit WorkerCgroup(std::string path) : path_(std::move(path)) {}
  ~WorkerCgroup();
  WorkerCgroup(const WorkerCgroup&) = delete;
  WorkerCgroup& operator=(const WorkerCgroup&) = delete;

  bool add(pid_t pid);
  // Everything in it; returns when nothing is left, or after some seconds.
  void kill();

 private:
  const std::string path_;
};

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t tasks = 0;
};

class WorkerCgroups {
 public:
  // Opened at the first call.
  static std::shared_ptr<WorkerCgroups> of_this_process();
  // `own`: the folder of this process's group. FAILED_PRECONDITION with the reason when it is not delegated.
  static absl::StatusOr<std::shared_ptr<WorkerCgroups>> open(const std::string& own);

  // Null when the system has none to give.
  std::unique_ptr<WorkerCgroup> make(const CgroupLimits& limits) const;
  // Why memory and processes are not limited, only killed together; empty: they are limited.
  const std::string& lacks() const { return lacks_; }

 private:
  WorkerCgroups(std::string own, std::string lacks) : own_(std::move(own)), lacks_(std::move(lacks)) {}

  const std::string own_;
  const std::string lacks_;
};

// Where this process's group is mounted. FAILED_PRECONDITION when there is no cgroup v2 here.
absl::StatusOr<std::string> find_own_cgroup();

}  // namespace hearth::daemon
