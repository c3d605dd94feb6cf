// WorkerWatch: looks at what a worker and everything it started use, and says when a limit is passed: memory (with its
// files that are memory), files, processes, time without progress. What the kernel limits is limited there too, this is
// for what it counts wrongly or not at all: a tree of processes, memory files, root's processes.
//
// Used by the one thread that waits for the worker. Example:
//   WorkerWatch watch(limits, keeper, &folder);
//   watch.attach(worker);
//   watch.begin();                                  // at a request
//   if (auto breach = watch.look()) kill_worker(breach->detail);
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/worker_pool/worker_folder.h"
#include "daemon/worker_pool/worker_usage.h"

namespace hearth::daemon {

struct WorkerLimits {
  std::uint64_t memory_bytes = 4ull << 30;
  std::uint64_t output_bytes = 1ull << 30;       // the largest file it may write
  std::uint64_t folder_bytes = 1ull << 30;       // all its files together
  std::uint64_t tasks = 256;                     // processes and threads
  std::uint64_t processor_s = 6 * 3'600;         // of one process; a worker is replaced at half of it
  std::chrono::milliseconds hang_limit{10'000};  // without using any processor time
};

class WorkerWatch {
 public:
  struct Breach {
    bool is_hang = false;
    std::string detail;  // "used more than 256 MiB of memory and was killed"
  };

  // `keeper`: the process that the daemon started. Borrows the folder.
  WorkerWatch(const WorkerLimits& limits, pid_t keeper, const WorkerFolder* folder,
              const Clock& clock = Clock::machine())
      : limits_(limits), keeper_(keeper), worker_(keeper), folder_(folder), clock_(clock) {}

  // Once the worker has said who it is.
  void attach(pid_t worker);
  void begin();
  std::optional<Breach> look();

  // Half of the processor time that one worker may use is used up, or it computes though it has nothing to do.
  bool is_worn_out() const;
  void end() { idle_ticks_ = processor_ticks(worker_); }

  // What ran at the last look, also what was seen before and has lost its parents since.
  const std::vector<ProcessId>& seen() const { return seen_; }

 private:
  // The worker and everything below the keeper, but the init process that only waits for it, and what was seen there
  // and still runs.
  std::vector<pid_t> processes() const;
  std::uint64_t ticks_of(const std::vector<pid_t>& pids) const;
  bool is_hung(const std::vector<pid_t>& pids);

  const WorkerLimits limits_;
  const pid_t keeper_;
  pid_t worker_;
  pid_t init_ = -1;
  const WorkerFolder* const folder_;
  const Clock& clock_;
  std::vector<ProcessId> seen_;
  std::uint64_t ticks_ = 0;
  std::uint64_t idle_ticks_ = 0;
  Clock::time_point last_progress_;
};

}  // namespace hearth::daemon
