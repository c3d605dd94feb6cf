// WorkerProcess: one hearth-worker child, spoken to over a socketpair, one request at a time.
//
// Owns the process, its socket and its private temp folder; the destructor kills and reaps it. Belongs to one thread:
// that thread must outlive it (the kernel kills the child when its creating thread ends). Nothing here throws; how an
// exchange ended is told by WorkerEnd, with one line of detail. Example:
//   auto worker = WorkerProcess::spawn(command, wake_fd);
//   Exchange exchange = (*worker)->exchange(request, wake_fd);
//   if (exchange.end != WorkerEnd::kReply) worker->reset();   // dead by now; spawn another
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

struct WorkerCommand {
  std::string path;         // the hearth-worker program
  std::string temp_folder;  // private temp folders are made in it
  std::string build_id;     // what its hello must say
  std::uint64_t memory_bytes = 4ull << 30;
  std::uint64_t output_bytes = 1ull << 30;        // the largest file it may write
  std::chrono::milliseconds wall_limit{60'000};   // one request
  std::chrono::milliseconds hang_limit{10'000};   // without using any processor time
  std::chrono::milliseconds start_limit{30'000};  // until its hello
  // Not 0: it may start programs (compilers), each of which may run this long. They count as the worker's memory and
  // processor time, and end with it.
  std::chrono::milliseconds program_limit{0};
  std::string setting = "--worker";  // the flag that names the program
};

enum class WorkerEnd {
  kReply,       // the worker answered (maybe with a WorkerError) and lives
  kCrashed,     // it died by itself
  kKilled,      // somebody else killed it (SIGKILL: the kernel short of memory, a person)
  kTimedOut,    // over the wall limit or hung; killed
  kOverMemory,  // over the memory limit; killed
  kGarbage,     // its bytes made no sense; killed
  kCancelled,   // wake_fd became readable; killed
};

struct Exchange {
  WorkerEnd end = WorkerEnd::kReply;
  v1::WorkerReply reply;
  std::string detail;  // e.g. "was killed by signal 11 (Segmentation fault)"
};

class WorkerProcess {
 public:
  // Starts the program and checks its hello. FAILED_PRECONDITION when it is another build, NOT_FOUND when there is no
  // such program, CANCELLED by `wake_fd`, ABORTED when somebody killed it meanwhile, INTERNAL otherwise.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> spawn(const WorkerCommand& command, int wake_fd);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends the request and waits for the reply. `wake_fd` (an eventfd) interrupts; it is not drained.
  Exchange exchange(const v1::WorkerRequest& request, int wake_fd);

  // False once it has died (or spoken unasked) while idle.
  bool idle_and_alive() const;

  pid_t pid() const { return pid_; }

 private:
  explicit WorkerProcess(const WorkerCommand& command) : command_(command) {}

  // Waits for `fd`, looking after the limits meanwhile; sets end_ and detail_ when it gives up.
  absl::Status wait(int fd, short events, int wake_fd);
  void begin(std::chrono::milliseconds wall_limit);
  bool hung();
  // Kills the process if it still runs and reaps it; the wait status.
  int reap(bool may_exit_by_itself);
  // The worker's processes: itself and, when it may start programs, those.
  std::vector<pid_t> processes() const;

  const WorkerCommand command_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string folder_;

  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline_;
  Clock::time_point last_progress_;
  std::chrono::milliseconds current_limit_{0};
  std::uint64_t processor_ticks_ = 0;
  WorkerEnd end_ = WorkerEnd::kReply;
  std::string detail_;
};

// Removes private temp folders that daemons which are gone left in `temp_folder`.
void sweep_worker_folders(const std::string& temp_folder);

}  // namespace hearth::daemon
