#include "client/connection/detached_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/cancellation.h"
#include "base/text.h"
#include "client/connection/deadline.h"

extern char** environ;

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kIdleExitSeconds = "600";
constexpr std::size_t kLogTailBytes = 600;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// The user's own folders, and the time zone.
constexpr const char* kKept[] = {"HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
                                 "TZ"};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kSanitizerOptions[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
#endif

// Limits under which a process may have been started and the daemon should not be. Not the stack's: without a limit it
// changes the layout of the address space.
constexpr __rlimit_resource kRaised[] = {RLIMIT_AS,  RLIMIT_CPU,    RLIMIT_DATA,  RLIMIT_FSIZE,
                                         RLIMIT_RSS, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_MEMLOCK};

// Async-signal-safe calls only, as in everything between fork and exec: the process may have threads.
void forget_the_starter() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(077);
  for (const __rlimit_resource resource : kRaised) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
  // A starter of real time priority would hand it down to every compile.
  const sched_param normal{};
  sched_setscheduler(0, SCHED_OTHER, &normal);
  setpriority(PRIO_PROCESS, 0, 0);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  if (const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    if (write(file, "0", 1) < 0) {
    }
    close(file);
  }
}

pid_t fork_detached(const std::vector<char*>& arguments, const std::vector<char*>& environment, int log, int ready) {
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  const pid_t grandchild = fork();
  if (grandchild != 0) _exit(grandchild < 0 ? 127 : 0);
  forget_the_starter();
  const int null = open("/dev/null", O_RDWR);
  // Above the numbers they are moved to, so that no dup2 overwrites the other.
  const int log_high = fcntl(log, F_DUPFD, 10), ready_high = fcntl(ready, F_DUPFD, 10);
  dup2(null, 0);
  dup2(log_high, 1);
  dup2(log_high, 2);
  dup2(ready_high, 3);
  close_range(4, ~0U, 0);
  if (chdir("/") != 0) _exit(127);
  execve(arguments[0], arguments.data(), environment.data());
  static constexpr char kMessage[] = "exec failed\n";
  if (write(2, kMessage, sizeof kMessage - 1) < 0) _exit(126);
  _exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

std::vector<std::string> daemon_environment() {
  std::vector<std::string> list = {kPath, "LC_ALL=C.UTF-8"};
  const auto keep = [&list](const char* name) {
    if (const char* value = secure_getenv(name); value && *value) list.push_back(str_cat(name, "=", value));
  };
  for (const char* name : kKept) keep(name);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  for (const char* name : kSanitizerOptions) keep(name);
#endif
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("HEARTH_")) keep(std::string(text.substr(0, text.find('='))).c_str());
  }
  return list;
}

std::string daemon_log_path(const std::string& socket_path) { return socket_path + ".log"; }

absl::StatusOr<DetachedDaemon> DetachedDaemon::start(const std::string& program, const std::string& socket_path) {
  DetachedDaemon daemon(program, daemon_log_path(socket_path));
  // What it says before its log is open, and what the C library says when it dies.
  const int log = open(daemon.log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log < 0) {
    return absl::UnavailableError(
        str_cat("cannot write the daemon's log ", daemon.log_path_, ": ", std::strerror(errno)));
  }
  struct stat info{};
  if (fstat(log, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() || info.st_nlink != 1) {
    close(log);
    return absl::PermissionDeniedError(
        str_cat("the daemon's log ", daemon.log_path_, " is no file of yours alone (user ", info.st_uid, ", ",
                info.st_nlink, " names): remove it, or choose a folder that only you can write, with HEARTH_SOCKET"));
  }
  daemon.log_begin_ = std::max<off_t>(0, lseek(log, 0, SEEK_END));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const int error = errno;
    close(log);
    return absl::UnavailableError(str_cat("no pipe: ", std::strerror(error)));
  }
  daemon.ready_ = ends[0];
  const char* idle = secure_getenv("HEARTH_IDLE_EXIT_S");
  std::vector<std::string> words = {program,
                                    "--socket",
                                    socket_path,
                                    "--idle-exit",
                                    idle && *idle ? idle : kIdleExitSeconds,
                                    "--default-log",
                                    daemon.log_path_,
                                    "--ready-fd",
                                    "3"};
  std::vector<std::string> environment = daemon_environment();
  const pid_t child = fork_detached(pointers(words), pointers(environment), log, ends[1]);
  const int error = errno;
  close(log);
  close(ends[1]);
  if (child < 0) return absl::UnavailableError(str_cat("cannot start ", program, ": ", std::strerror(error)));
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return daemon;
}

DetachedDaemon::~DetachedDaemon() {
  if (ready_ >= 0) close(ready_);
}

absl::Status DetachedDaemon::wait_until_ready(Clock::time_point deadline) {
  for (;;) {
    pollfd wait = {ready_, POLLIN, 0};
    const int left = milliseconds_until(deadline);
    const int ready = poll(&wait, 1, wait_slice_ms(left));
    if (ready <= 0 && is_cancelled()) return absl::CancelledError("the call was cancelled while a daemon started");
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > 0) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(
          str_cat("the daemon ", program_, " did not become ready in time; ", quote_log()));
    }
    char byte;
    const ssize_t count = read(ready_, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count == 1 && byte == '0') {
      return absl::AlreadyExistsError(str_cat("the daemon ", program_, " found another one; ", quote_log()));
    }
    if (count == 1) return absl::OkStatus();
    return absl::UnavailableError(str_cat("the daemon ", program_, " ended before it was ready; ", quote_log()));
  }
}

std::string DetachedDaemon::quote_log() const {
  std::string text(kLogTailBytes, '\0');
  const int file = open(log_path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t count = 0;
  if (file >= 0) {
    const off_t size = lseek(file, 0, SEEK_END);
    const off_t begin = std::max(size < log_begin_ ? 0 : log_begin_, size - static_cast<off_t>(kLogTailBytes));
    count = pread(file, text.data(), text.size(), begin);
    close(file);
  }
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return str_cat("its log ", log_path_, text.empty() ? " says nothing" : str_cat(" ends: ", text));
}

}  // namespace hearth::client
