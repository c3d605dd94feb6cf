// WorkerProcess: one hearth-worker child, spoken to over a socketpair, one request at a time.
//
// Owns the process (which is the worker's keeper, daemon/worker/keeper.h), its socket and its private folder; the
// destructor kills and reaps it, with everything it started. Belongs to one thread: that thread must outlive it (the
// kernel kills the child when its creating thread ends). Nothing here throws; how an exchange ended is told by
// WorkerEnd, with one line of detail. Example:
//   auto worker = WorkerProcess::spawn(command, wake_fd);
//   Exchange exchange = (*worker)->exchange(request, wake_fd);
//   if (exchange.end != WorkerEnd::kReply) worker->reset();   // dead by now; spawn another
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/worker_pool/readable_paths.h"
#include "daemon/worker_pool/sandbox_status.h"
#include "daemon/worker_pool/worker_cgroup.h"
#include "daemon/worker_pool/worker_folder.h"
#include "daemon/worker_pool/worker_output.h"
#include "daemon/worker_pool/worker_watch.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

struct WorkerCommand {
  std::string path;         // the hearth-worker program
  std::string temp_folder;  // private temp folders are made in it
  std::string build_id;     // what its hello must say
  WorkerLimits limits;
  std::chrono::milliseconds wall_limit{60'000};   // one request
  std::chrono::milliseconds start_limit{30'000};  // until its hello
  // Not 0: it may start programs (compilers), each of which may run this long. They count as the worker's memory and
  // processor time, and end with it.
  std::chrono::milliseconds program_limit{0};
  std::string setting = "--worker";  // the flag that names the program

  std::vector<std::string> reads;          // what it may read beside the system's libraries
  std::vector<ReadableTree> trees;         // likewise, of the request
  std::vector<std::string> runs;           // likewise, and start programs of
  SecretFolders secrets;                   // what no request may have it read: empty where it looks
  std::set<std::string> without;           // layers of the sandbox to leave out: `sandbox = off`, and tests
  std::shared_ptr<SandboxStatus> sandbox;  // judges what it reports; null: nobody does
  std::shared_ptr<WorkerCgroups> cgroups;  // null: none
  // Told what a worker's code comes from, before it is given any request; on pool threads; may be null.
  std::function<void(std::vector<std::string> mapped_files)> on_mapped_files;
  const Clock* clock = &Clock::machine();  // of its limits
};

enum class WorkerEnd {
  kReply,      // the worker answered (maybe with a WorkerError) and lives
  kCrashed,    // it died by itself
  kKilled,     // somebody else killed it (SIGKILL: the kernel short of memory, a person)
  kTimedOut,   // over the wall limit or hung; killed
  kOverLimit,  // over a limit of memory, files or processes; killed
  kGarbage,    // its bytes made no sense; killed
  kCancelled,  // wake_fd became readable; killed
  kYielded,    // others need its worker; killed
};

struct Exchange {
  WorkerEnd end = WorkerEnd::kReply;
  v1::WorkerReply reply;
  std::string detail;  // e.g. "was killed by signal 11 (Segmentation fault)"
};

class WorkerProcess {
 public:
  // Starts the program and checks its hello. FAILED_PRECONDITION when it is another build or lacks a required layer of
  // the sandbox, NOT_FOUND when there is no such program, CANCELLED by `wake_fd`, ABORTED when somebody killed it
  // meanwhile, INTERNAL otherwise.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> spawn(const WorkerCommand& command, int wake_fd);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends the request and waits for the reply. `wake_fd` (an eventfd) interrupts; it is not drained. So does
  // `must_yield`, which is asked ten times a second; null: never.
  Exchange exchange(const v1::WorkerRequest& request, int wake_fd, const std::function<bool()>& must_yield = nullptr);

  // False once it has died (or spoken unasked, or computed unasked) while idle, or is worn out.
  bool idle_and_alive() const;
  // Whether it was started with the right to read all of these.
  bool may_read(const std::vector<ReadableTree>& trees) const;

  pid_t pid() const { return worker_pid_; }

 private:
  explicit WorkerProcess(const WorkerCommand& command) : command_(command) {}

  // Reads the hello and does what is to be done before the first request.
  absl::Status greet(int wake_fd);
  void confine(const v1::WorkerHello& hello, v1::SandboxReport* report);
  // Waits for `fd`, looking after the limits meanwhile; sets end_ and detail_ when it gives up.
  absl::Status wait(int fd, short events, int wake_fd);
  void begin(std::chrono::milliseconds wall_limit);
  absl::Status give_up(WorkerEnd end, const std::string& detail);
  // Kills the process if it still runs and reaps it; the wait status.
  int reap(bool may_exit_by_itself);

  const WorkerCommand command_;
  WorkerFolder folder_;
  pid_t pid_ = -1;         // of the keeper, our child
  int keeper_end_ = -1;    // readable once it has ended (pidfd)
  pid_t worker_pid_ = -1;  // of the process that compiles
  int worker_end_ = -1;    // likewise of that one; its keeper may take a moment to follow
  int socket_ = -1;
  std::unique_ptr<WorkerOutput> output_;
  std::unique_ptr<WorkerCgroup> cgroup_;
  std::optional<WorkerWatch> watch_;

  std::function<bool()> must_yield_;  // of the request under way
  Clock::time_point deadline_;
  std::chrono::milliseconds current_limit_{0};
  WorkerEnd end_ = WorkerEnd::kReply;
  std::string detail_;
};

}  // namespace hearth::daemon
