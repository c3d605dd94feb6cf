#include "daemon/worker_pool/worker_process.h"

#include <absl/strings/str_cat.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "base/status_macros.h"
#include "daemon/worker_pool/framing.h"
#include "daemon/worker_pool/sandbox_layers.h"
#include "daemon/worker_pool/worker_launch.h"
#include "daemon/worker_pool/worker_usage.h"
#include "proto/versions.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{100};
constexpr std::chrono::seconds kExitGrace{2};       // to end by itself: how it ended tells a crash from a kill
constexpr std::chrono::seconds kKeeperPatience{5};  // for the end of all that a keeper was told to end

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* why = number == SIGSYS ? ", for a system call that no compiler makes" : "";
    return absl::StrCat("was killed by signal ", number, " (", ::strsignal(number), why, ")");
  }
  if (WIFEXITED(status)) return absl::StrCat("exited with code ", WEXITSTATUS(status));
  return "ended";
}

// We reap before we kill, so this SIGKILL is not ours.
bool killed_from_outside(int wait_status) { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL; }

// True, with its status, when `pid` has ended by `give_up`.
bool reap_until(pid_t pid, std::chrono::steady_clock::time_point give_up, int* status) {
  for (;;) {
    if (::waitpid(pid, status, WNOHANG) == pid) return true;
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(const WorkerCommand& command, int wake_fd) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(command));
  HEARTH_ASSIGN_OR_RETURN(WorkerFolder folder, WorkerFolder::create(command.temp_folder));
  worker->folder_ = std::move(folder);
  HEARTH_ASSIGN_OR_RETURN(LaunchedWorker launched, launch_worker(command, worker->folder_.files()));
  worker->pid_ = worker->worker_pid_ = launched.pid;
  worker->socket_ = launched.socket;
  worker->output_ = std::move(launched.output);
  worker->keeper_end_ = static_cast<int>(::syscall(SYS_pidfd_open, launched.pid, 0));
  worker->watch_.emplace(command.limits, worker->pid_, &worker->folder_, *command.clock);
  HEARTH_RETURN_IF_ERROR(worker->greet(wake_fd));
  return worker;
}

absl::Status WorkerProcess::greet(int wake_fd) {
  begin(command_.start_limit);
  v1::WorkerReply reply;
  absl::Status status = wait(socket_, POLLIN, wake_fd);
  if (status.ok()) {
    if (const pid_t sender = sender_of(socket_); sender > 0) worker_pid_ = sender;
    worker_end_ = static_cast<int>(::syscall(SYS_pidfd_open, worker_pid_, 0));
    status =
        read_frame(socket_, reply, kMaxFrameBytes, [&](int fd, short events) { return wait(fd, events, wake_fd); });
  }
  if (!status.ok()) {
    if (end_ == WorkerEnd::kCancelled) return absl::CancelledError("cancelled");
    const bool late = end_ == WorkerEnd::kTimedOut;
    const int how = reap(!late);
    const std::string message = absl::StrCat("the compiler worker '", command_.path,
                                             "' did not start: ", late ? detail_ : describe_wait_status(how));
    return !late && killed_from_outside(how) ? absl::AbortedError(message) : absl::InternalError(message);
  }
  const v1::WorkerHello& hello = reply.hello();
  if (!reply.has_hello() || hello.version() != kWorkerVersion || hello.build_id() != command_.build_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the compiler worker '", command_.path, "' is of another build (version ", hello.version(), ", build ",
        hello.build_id().substr(0, 12), ") than the daemon (version ", kWorkerVersion, ", build ",
        command_.build_id.substr(0, 12), "): install hearthd and hearth-worker from one build"));
  }
  if (command_.on_mapped_files) command_.on_mapped_files({hello.mapped_files().begin(), hello.mapped_files().end()});
  v1::SandboxReport report;
  confine(hello, &report);
  return command_.sandbox ? command_.sandbox->judge(report) : absl::OkStatus();
}

void WorkerProcess::confine(const v1::WorkerHello& hello, v1::SandboxReport* report) {
  folder_.attach(worker_pid_);
  watch_->attach(worker_pid_);
  *report = hello.sandbox();
  const bool is_in_memory = folder_.is_in_memory();
  add_layer(report, layer::kFolder, is_in_memory ? v1::SandboxLayer::ON : v1::SandboxLayer::PARTIAL,
            is_in_memory ? "in memory" : "on disk, looked at ten times a second");
  // A little more than the watch allows, which knows better what to tell the caller.
  if (command_.cgroups)
    cgroup_ =
        command_.cgroups->make({.memory_bytes = command_.limits.memory_bytes / 8 * 9, .tasks = command_.limits.tasks});
  if (!cgroup_) return add_layer(report, layer::kCgroup, v1::SandboxLayer::OFF, "not delegated to the daemon");
  bool all_in = cgroup_->add(pid_);
  for (const pid_t pid : descendants_of(pid_)) all_in = cgroup_->add(pid) && all_in;
  const std::string& lacks = command_.cgroups->lacks();
  add_layer(report, layer::kCgroup,
            !all_in         ? v1::SandboxLayer::OFF
            : lacks.empty() ? v1::SandboxLayer::ON
                            : v1::SandboxLayer::PARTIAL,
            all_in ? lacks : "the worker could not be moved into its group");
}

WorkerProcess::~WorkerProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ > 0) reap(false);
  for (const int end : {keeper_end_, worker_end_}) {
    if (end >= 0) ::close(end);
  }
}

bool WorkerProcess::idle_and_alive() const {
  // What it started may hold its end of the socket, and without its keeper it is about to end.
  pollfd ends[3] = {{socket_, POLLIN, 0}, {keeper_end_, POLLIN, 0}, {worker_end_, POLLIN, 0}};
  return pid_ > 0 && ::poll(ends, 3, 0) == 0 && !watch_->is_worn_out();
}

bool WorkerProcess::may_read(const std::vector<ReadableTree>& trees) const {
  return std::all_of(trees.begin(), trees.end(), [this](const ReadableTree& tree) {
    return std::find(command_.trees.begin(), command_.trees.end(), tree) != command_.trees.end();
  });
}

Exchange WorkerProcess::exchange(const v1::WorkerRequest& request, int wake_fd,
                                 const std::function<bool()>& must_yield) {
  begin(command_.wall_limit);
  must_yield_ = must_yield;
  Exchange exchange;
  const auto waiting = [&](int fd, short events) { return wait(fd, events, wake_fd); };
  absl::Status status = write_frame(socket_, request, waiting);
  if (absl::IsResourceExhausted(status)) {  // nothing was sent: the worker is fine
    exchange.reply.set_id(request.id());
    exchange.reply.mutable_error()->set_code(static_cast<int>(status.code()));
    exchange.reply.mutable_error()->set_message(std::string(status.message()));
    return exchange;
  }
  if (status.ok()) status = read_frame(socket_, exchange.reply, kMaxFrameBytes, waiting);
  if (status.ok() && exchange.reply.id() != request.id()) status = absl::DataLossError("a reply to another request");
  watch_->end();
  output_->drain();
  if (status.ok()) return exchange;

  if (end_ != WorkerEnd::kReply) {
    exchange.end = end_;
    exchange.detail = detail_;
    reap(false);
  } else if (absl::IsDataLoss(status)) {
    exchange.end = WorkerEnd::kGarbage;
    exchange.detail = absl::StrCat("answered garbage (", status.message(), ")");
    reap(false);
  } else {
    const int how = reap(true);
    exchange.end = killed_from_outside(how) ? WorkerEnd::kKilled : WorkerEnd::kCrashed;
    exchange.detail = describe_wait_status(how);
  }
  return exchange;
}

void WorkerProcess::begin(std::chrono::milliseconds wall_limit) {
  current_limit_ = wall_limit;
  deadline_ = command_.clock->now() + wall_limit;
  watch_->begin();
  end_ = WorkerEnd::kReply;
  detail_.clear();
}

absl::Status WorkerProcess::give_up(WorkerEnd end, const std::string& detail) {
  end_ = end;
  detail_ = detail;
  switch (end) {
    case WorkerEnd::kCancelled:
    case WorkerEnd::kYielded:
      return absl::CancelledError(detail);
    case WorkerEnd::kTimedOut:
      return absl::DeadlineExceededError(detail);
    default:
      return absl::ResourceExhaustedError(detail);
  }
}

absl::Status WorkerProcess::wait(int fd, short events, int wake_fd) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - command_.clock->now());
    pollfd entries[3] = {{fd, events, 0}, {wake_fd, POLLIN, 0}, {keeper_end_, POLLIN, 0}};
    const int timeout = static_cast<int>(std::clamp<long>(left.count(), 0, kCheckEvery.count()));
    const int ready = ::poll(entries, 3, timeout);
    if (ready < 0 && errno != EINTR) return absl::UnavailableError(absl::StrCat("poll: ", std::strerror(errno)));
    if (ready > 0 && entries[1].revents != 0) return give_up(WorkerEnd::kCancelled, "was cancelled");
    if (ready > 0 && entries[0].revents != 0) return absl::OkStatus();
    // What the worker started may hold its end of the socket.
    if (ready > 0 && entries[2].revents != 0) return absl::UnavailableError("the worker's keeper has ended");
    output_->drain();
    if (must_yield_ && must_yield_()) return give_up(WorkerEnd::kYielded, "gave way to others");
    if (const std::optional<WorkerWatch::Breach> breach = watch_->look())
      return give_up(breach->is_hang ? WorkerEnd::kTimedOut : WorkerEnd::kOverLimit, breach->detail);
    if (left.count() <= 0) {
      return give_up(WorkerEnd::kTimedOut,
                     absl::StrCat("did not finish within ", static_cast<double>(current_limit_.count()) / 1000,
                                  " s and was killed"));
    }
  }
}

int WorkerProcess::reap(bool may_exit_by_itself) {
  int status = 0;
  if (pid_ <= 0) return status;
  bool reaped = may_exit_by_itself && reap_until(pid_, std::chrono::steady_clock::now() + kExitGrace, &status);
  if (!reaped) {
    // The keeper ends all that is beneath it, then itself.
    ::kill(pid_, SIGTERM);
    reaped = reap_until(pid_, std::chrono::steady_clock::now() + kKeeperPatience, &status);
  }
  if (!reaped) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  // What is left when somebody killed the keeper. Nothing, usually.
  if (cgroup_) cgroup_->kill();
  kill_processes(watch_->seen());
  output_->finish();
  pid_ = -1;
  return status;
}

}  // namespace hearth::daemon
