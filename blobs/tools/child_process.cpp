#include "blobs/tools/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace hearth::blobs {
namespace {

using Clock = std::chrono::steady_clock;

// What the supervisor tells this process, once.
struct Report {
  int start_errno;  // not 0: the program could not be started
  int status;       // of waitpid
};

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() { close(0), close(1); }
};

struct Prepared {
  const ChildCommand* command;
  std::vector<char*> arguments, environment;
  int output, errors, report, parent;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// From here to the end of supervise() only async-signal-safe calls: another thread may have held any lock at the fork.

void limit(int what, std::uint64_t bytes) {
  if (bytes == 0 && what != RLIMIT_CORE) return;
  const rlimit both{bytes, bytes};
  ::setrlimit(static_cast<__rlimit_resource>(what), &both);
}

[[noreturn]] void become_program(const Prepared& p, int error_pipe) {
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, p.command->memory_bytes);
  limit(RLIMIT_FSIZE, p.command->output_bytes);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(p.output, 1);
  ::dup2(p.errors, 2);
  const bool there = p.command->folder.empty() || ::chdir(p.command->folder.c_str()) == 0;
  if (there) ::execve(p.arguments[0], p.arguments.data(), p.environment.data());
  const int why = errno;
  (void)!::write(error_pipe, &why, sizeof why);
  ::_exit(127);
}

// A daemon's sockets and locks must not live on in a supervisor: everything but the three pipes is closed.
void close_others(const Prepared& p) {
  int keep[3] = {p.output, p.errors, p.report};
  std::sort(std::begin(keep), std::end(keep));
  unsigned from = 3;
  for (const int fd : keep) {
    if (static_cast<unsigned>(fd) > from) ::close_range(from, static_cast<unsigned>(fd) - 1, 0);
    from = static_cast<unsigned>(fd) + 1;
  }
  ::close_range(from, ~0u, 0);
}

// Kills what left the program's group too: the supervisor's children, as often as there are any, which makes their
// children its own.
void kill_descendants() {
  for (int round = 0; round < 10'000; ++round) {
    const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (list < 0) return;
    char text[4096];
    const ssize_t size = ::read(list, text, sizeof text);
    ::close(list);
    if (size <= 0) return;
    pid_t pid = 0;
    for (ssize_t i = 0; i < size; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        pid = pid * 10 + (text[i] - '0');
      } else if (pid > 0) {
        // Only those that were killed are waited for: what they leave comes to this process in the next round.
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        pid = 0;
      }
    }
  }
}

[[noreturn]] void supervise(const Prepared& p) {
  // A session of its own: a terminal's signals do not reach the compiler. Blocked before the parent can want its end.
  ::setsid();
  close_others(p);
  ::prctl(PR_SET_NAME, "blob-supervisor");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigaddset(&awaited, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &awaited, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  Report report{0, 0};
  int failure[2];
  if (::getppid() != p.parent || ::pipe2(failure, O_CLOEXEC) != 0) ::_exit(1);
  const pid_t program = ::fork();
  if (program == 0) become_program(p, failure[1]);
  ::close(failure[1]);
  if (program < 0 || ::read(failure[0], &report.start_errno, sizeof(int)) == sizeof(int)) {
    if (program < 0) report.start_errno = errno;
  } else {
    for (;;) {
      const int got = ::sigwaitinfo(&awaited, nullptr);
      if (got == SIGTERM) break;  // time is up, or nobody waits for the result any more
      siginfo_t ended{};
      if (::waitid(P_PID, program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == program) break;
      // Another descendant, handed down by its parent's death, may have ended: collected at the end.
    }
    ::kill(-program, SIGKILL);  // while it is not collected yet, its number is nobody else's
    while (::waitpid(program, &report.status, 0) < 0 && errno == EINTR) {
    }
  }
  kill_descendants();
  (void)!::write(p.report, &report, sizeof report);
  ::_exit(0);
}

void keep_last(std::string* text, const char* bytes, std::size_t size, std::size_t keep) {
  text->append(bytes, size);
  if (text->size() > 2 * keep) text->erase(0, text->size() - keep);
}

// False at the end of the stream.
bool drain(int fd, std::string* text, std::size_t keep) {
  char bytes[16384];
  for (;;) {
    const ssize_t size = ::read(fd, bytes, sizeof bytes);
    if (size > 0) keep_last(text, bytes, static_cast<std::size_t>(size), keep);
    if (size == 0) return false;
    if (size < 0) return errno == EAGAIN || errno == EINTR;
  }
}

// Collects what the program says until the supervisor reports; asks it to end when time is up.
bool attend(const ChildCommand& command, Clock::time_point start, pid_t supervisor, Pipe* report, Pipe* output,
            Pipe* errors, ChildResult* result, Report* told) {
  pollfd watched[3] = {{report->ends[0], POLLIN, 0}, {output->ends[0], POLLIN, 0}, {errors->ends[0], POLLIN, 0}};
  bool reported = false;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + command.wall_limit - Clock::now()).count();
    if (left <= 0 && !result->timed_out) {
      result->timed_out = true;
      ::kill(supervisor, SIGTERM);
    }
    const int timeout = result->timed_out ? -1 : static_cast<int>(std::min<std::int64_t>(left, 1 << 30));
    if (::poll(watched, 3, timeout) < 0 && errno != EINTR) break;
    if (watched[1].revents != 0 && !drain(output->ends[0], &result->output, command.keep_output_bytes))
      watched[1].fd = -1;
    if (watched[2].revents != 0 && !drain(errors->ends[0], &result->errors, command.keep_bytes)) watched[2].fd = -1;
    if (watched[0].revents != 0) {
      reported = ::read(report->ends[0], told, sizeof *told) == sizeof *told;
      break;
    }
  }
  // Everything that could write is dead: what the pipes hold is all there is.
  if (watched[1].fd >= 0) drain(output->ends[0], &result->output, command.keep_output_bytes);
  if (watched[2].fd >= 0) drain(errors->ends[0], &result->errors, command.keep_bytes);
  return reported;
}

void cut_front(std::string* text, std::size_t keep) {
  if (text->size() > keep) text->erase(0, text->size() - keep);
}

}  // namespace

absl::StatusOr<ChildResult> run_child(const ChildCommand& command) {
  Pipe report, output, errors;
  if (!report.open() || !output.open() || !errors.open())
    return absl::ErrnoToStatus(errno, str_cat(command.arguments[0], ": no pipe for it"));
  Prepared prepared{&command,
                    pointers(command.arguments),
                    pointers(command.environment),
                    output.ends[1],
                    errors.ends[1],
                    report.ends[1],
                    ::getpid()};
  for (const int end : {output.ends[0], errors.ends[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  // SIGTERM stays blocked over the fork, so that the supervisor cannot miss it.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto start = Clock::now();
  const pid_t supervisor = ::fork();
  if (supervisor == 0) supervise(prepared);
  const int why = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (supervisor < 0) return absl::ErrnoToStatus(why, str_cat(command.arguments[0], ": no process for it"));
  report.close(1), output.close(1), errors.close(1);
  ChildResult result;
  Report told{};
  const bool reported = attend(command, start, supervisor, &report, &output, &errors, &result, &told);
  while (::waitpid(supervisor, nullptr, 0) < 0 && errno == EINTR) {
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!reported) return absl::InternalError(str_cat(command.arguments[0], ": its supervising process was killed"));
  if (told.start_errno != 0)
    return absl::ErrnoToStatus(told.start_errno, str_cat(command.arguments[0], ": cannot be started"));
  cut_front(&result.output, command.keep_output_bytes);
  cut_front(&result.errors, command.keep_bytes);
  if (WIFSIGNALED(told.status)) result.signal = WTERMSIG(told.status);
  if (WIFEXITED(told.status)) result.exit_code = WEXITSTATUS(told.status);
  return result;
}

std::vector<std::string> minimal_environment(const std::string& temporary) {
  std::vector<std::string> list = {"LANG=C", "LC_ALL=C"};
  const char* path = std::getenv("PATH");
  list.push_back(str_cat("PATH=", path != nullptr && *path != '\0' ? path : "/usr/local/bin:/usr/bin:/bin"));
  if (const char* home = std::getenv("HOME")) list.push_back(str_cat("HOME=", home));
  const char* ours = std::getenv("TMPDIR");
  if (!temporary.empty() || ours != nullptr) list.push_back(str_cat("TMPDIR=", temporary.empty() ? ours : temporary));
  return list;
}

}  // namespace hearth::blobs
