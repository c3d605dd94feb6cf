// WorkerFolder: the private folder of one worker, the only place that it writes to.
//
// The folder on disk holds a lock, which its owner keeps as long as it lives, and `files`, which the worker gets. In a
// mount namespace the worker has memory of a limited size mounted there, of which nothing is seen outside. The lock
// tells folders in use from leftovers, also to daemons in other pid namespaces. Owns the folder: removed with its
// content by the destructor. One thread. Example:
//   absl::StatusOr<WorkerFolder> folder = WorkerFolder::create("/tmp");
//   spawn_worker(folder->files());
//   folder->attach(worker_pid);
//   if (folder->used_bytes() > limit) kill(worker_pid);
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hearth::daemon {

class WorkerFolder {
 public:
  // INTERNAL naming the parent folder when none can be made in it.
  static absl::StatusOr<WorkerFolder> create(const std::string& parent);
  WorkerFolder() = default;
  ~WorkerFolder();
  WorkerFolder(WorkerFolder&& other) noexcept;
  WorkerFolder& operator=(WorkerFolder&& other) noexcept;

  const std::string& files() const { return files_; }

  // Once the worker is in its sandbox, before it has read anything that is not trusted.
  void attach(pid_t worker);
  // True when the worker's files are in memory of a limited size: the kernel refuses more.
  bool is_in_memory() const { return mounted_ >= 0; }
  // The bytes of all files that have a name; the largest number when they are too many, or hidden from being counted.
  std::uint64_t used_bytes() const;

 private:
  std::string path_, files_;
  int lock_ = -1;
  int mounted_ = -1;  // what the worker has mounted at `files`
};

// Removes folders in `parent` of this user that nobody holds the lock of.
void sweep_worker_folders(const std::string& parent);

}  // namespace hearth::daemon
