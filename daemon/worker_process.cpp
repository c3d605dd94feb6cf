#include "daemon/worker_process.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "daemon/framing.h"
#include "daemon/worker_usage.h"
#include "proto/versions.h"

extern char** environ;

namespace hearth::daemon {
namespace {

constexpr int kWorkerSocket = 3;  // the descriptor the child finds its socket on
constexpr std::chrono::milliseconds kCheckEvery{100};
constexpr std::chrono::milliseconds kExitGrace{500};
constexpr char kFolderPrefix[] = "hearth-worker-";

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return absl::StrCat("was killed by signal ", number, " (", ::strsignal(number), ")");
  }
  if (WIFEXITED(status)) return absl::StrCat("exited with code ", WEXITSTATUS(status));
  return "ended";
}

// We reap before we kill, so this SIGKILL is not ours.
bool killed_from_outside(int wait_status) { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL; }

std::vector<std::string> environment_with_temp_folder(const std::string& folder) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0) result.emplace_back(*entry);
  }
  result.push_back("TMPDIR=" + folder);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Child: the socket as descriptor 3, nothing else but 0-2; default signals; none blocked.
int start_program(const std::string& path, std::vector<std::string> arguments, std::vector<std::string> environment,
                  int socket, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocket + 1);
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigaddset(&signals, SIGPIPE);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  // A group of its own: Ctrl-C at the daemon's terminal must not kill a compile that the drain still waits for.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error =
      ::posix_spawn(pid, path.c_str(), &actions, &attributes, pointers(arguments).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(const WorkerCommand& command, int wake_fd) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(command));
  std::string folder = absl::StrCat(command.temp_folder, "/", kFolderPrefix, ::getpid(), "-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("cannot create a temp folder for a compiler worker in '",
                                            command.temp_folder, "': ", std::strerror(errno)));
  }
  worker->folder_ = folder;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(absl::StrCat("cannot create a socketpair: ", std::strerror(errno)));
  }
  worker->socket_ = ends[0];
  // dup2 onto itself would keep close-on-exec, so the child's end must not be descriptor 3 here.
  if (ends[1] == kWorkerSocket) {
    ends[1] = ::fcntl(kWorkerSocket, F_DUPFD_CLOEXEC, kWorkerSocket + 1);
    ::close(kWorkerSocket);
  }
  std::vector<std::string> arguments = {
      command.path, absl::StrCat("--socket-fd=", kWorkerSocket), absl::StrCat("--parent=", ::getpid()),
      absl::StrCat("--memory=", command.memory_bytes), absl::StrCat("--output=", command.output_bytes)};
  if (command.program_limit.count() > 0) {
    arguments.push_back(absl::StrCat("--programs-ms=", command.program_limit.count()));
  }
  const int error =
      start_program(command.path, std::move(arguments), environment_with_temp_folder(folder), ends[1], &worker->pid_);
  ::close(ends[1]);
  if (error != 0) {
    worker->pid_ = -1;
    const std::string message = absl::StrCat("cannot start the compiler worker '", command.path,
                                             "': ", std::strerror(error), "; give its place with ", command.setting);
    return error == ENOENT ? absl::NotFoundError(message) : absl::InternalError(message);
  }
  worker->begin(command.start_limit);
  v1::WorkerReply reply;
  const absl::Status status = read_frame(worker->socket_, reply, kMaxFrameBytes,
                                         [&](int fd, short events) { return worker->wait(fd, events, wake_fd); });
  if (!status.ok()) {
    if (worker->end_ == WorkerEnd::kCancelled) return absl::CancelledError("cancelled");
    const bool late = worker->end_ == WorkerEnd::kTimedOut;
    const int how = worker->reap(!late);
    const std::string message = absl::StrCat("the compiler worker '", command.path,
                                             "' did not start: ", late ? worker->detail_ : describe_wait_status(how));
    return !late && killed_from_outside(how) ? absl::AbortedError(message) : absl::InternalError(message);
  }
  if (!reply.has_hello() || reply.hello().version() != kWorkerVersion || reply.hello().build_id() != command.build_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the compiler worker '", command.path, "' is of another build (version ", reply.hello().version(), ", build ",
        reply.hello().build_id().substr(0, 12), ") than the daemon (version ", kWorkerVersion, ", build ",
        command.build_id.substr(0, 12), "): install hearthd and hearth-worker from one build"));
  }
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ > 0) reap(false);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

bool WorkerProcess::idle_and_alive() const {
  pollfd entry{socket_, POLLIN, 0};
  return pid_ > 0 && ::poll(&entry, 1, 0) == 0;
}

Exchange WorkerProcess::exchange(const v1::WorkerRequest& request, int wake_fd) {
  begin(command_.wall_limit);
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
  last_progress_ = Clock::now();
  deadline_ = last_progress_ + wall_limit;
  processor_ticks_ = 0;
  for (pid_t pid : processes()) processor_ticks_ += processor_ticks(pid);
  end_ = WorkerEnd::kReply;
  detail_.clear();
}

std::vector<pid_t> WorkerProcess::processes() const {
  std::vector<pid_t> pids;
  if (command_.program_limit.count() > 0) pids = descendants_of(pid_);
  pids.push_back(pid_);
  return pids;
}

bool WorkerProcess::hung() {
  std::uint64_t ticks = 0;
  bool runnable = false;
  for (pid_t pid : processes()) {
    ticks += processor_ticks(pid);
    runnable = runnable || is_runnable(pid);
  }
  const Clock::time_point now = Clock::now();
  if (ticks != processor_ticks_ || runnable) {
    processor_ticks_ = ticks;
    last_progress_ = now;
  }
  return now - last_progress_ >= command_.hang_limit;
}

absl::Status WorkerProcess::wait(int fd, short events, int wake_fd) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    pollfd entries[2] = {{fd, events, 0}, {wake_fd, POLLIN, 0}};
    const int timeout = static_cast<int>(std::clamp<long>(left.count(), 0, kCheckEvery.count()));
    const int ready = ::poll(entries, 2, timeout);
    if (ready < 0 && errno != EINTR) return absl::UnavailableError(absl::StrCat("poll: ", std::strerror(errno)));
    if (ready > 0 && entries[1].revents != 0) {
      end_ = WorkerEnd::kCancelled;
      detail_ = "was cancelled";
      return absl::CancelledError(detail_);
    }
    if (ready > 0 && entries[0].revents != 0) return absl::OkStatus();
    std::uint64_t memory_bytes = 0;
    for (pid_t pid : processes()) memory_bytes += resident_bytes(pid);
    if (memory_bytes > command_.memory_bytes) {
      end_ = WorkerEnd::kOverMemory;
      detail_ = absl::StrCat("used more than ", command_.memory_bytes >> 20, " MiB of memory and was killed");
      return absl::ResourceExhaustedError(detail_);
    }
    if (left.count() <= 0 || hung()) {
      end_ = WorkerEnd::kTimedOut;
      const auto limit = left.count() <= 0 ? current_limit_ : command_.hang_limit;
      detail_ =
          absl::StrCat(left.count() <= 0 ? "did not finish within " : "hung (no progress for ",
                       static_cast<double>(limit.count()) / 1000, left.count() <= 0 ? " s" : " s)", " and was killed");
      return absl::DeadlineExceededError(detail_);
    }
  }
}

int WorkerProcess::reap(bool may_exit_by_itself) {
  int status = 0;
  if (pid_ <= 0) return status;
  const Clock::time_point give_up = Clock::now() + kExitGrace;
  bool reaped = false;
  while (may_exit_by_itself && !reaped && Clock::now() < give_up) {
    reaped = ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (!reaped) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool starts_programs = command_.program_limit.count() > 0;
  if (!reaped) {
    if (starts_programs) {  // first: without their parent they are hard to find
      ::kill(pid_, SIGSTOP);
      kill_descendants(pid_);
    }
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  // Those of a worker that died by itself.
  if (starts_programs) kill_processes_naming(folder_);
  pid_ = -1;
  return status;
}

void sweep_worker_folders(const std::string& temp_folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(temp_folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kFolderPrefix, 0) != 0) continue;
    const std::vector<std::string> parts = absl::StrSplit(name.substr(sizeof(kFolderPrefix) - 1), '-');
    int pid = 0;
    struct stat info;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &pid) || pid <= 0) continue;
    if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) {
      std::error_code ignored;
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
}

}  // namespace hearth::daemon
