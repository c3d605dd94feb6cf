#include "client/daemon_starter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "proto/socket_path.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kIdleExitSeconds = "600";
constexpr std::size_t kLogTailBytes = 600;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

std::chrono::milliseconds left(Clock::time_point deadline) {
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()));
}

void sleep_jittered(int milliseconds) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::microseconds(500 * milliseconds + random() % (1000 * milliseconds)));
}

std::string tail_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return "(no log)";
  const off_t size = lseek(file.get(), 0, SEEK_END);
  std::string text(kLogTailBytes, '\0');
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(kLogTailBytes));
  const ssize_t count = pread(file.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "(it said nothing)" : text;
}

bool is_program(const fs::path& path) { return access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); }

// The daemon gets its own session, no inherited descriptors but the log and the ready pipe, and init as its parent.
// Between fork and exec only async-signal-safe calls are made: this process may have threads.
pid_t fork_daemon(const std::vector<char*>& arguments, int log, int ready) {
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  const pid_t grandchild = fork();
  if (grandchild != 0) _exit(grandchild < 0 ? 127 : 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int null = open("/dev/null", O_RDWR);
  // Above the numbers they are moved to, so that no dup2 overwrites the other.
  const int log_high = fcntl(log, F_DUPFD, 10), ready_high = fcntl(ready, F_DUPFD, 10);
  dup2(null, 0);
  dup2(log_high, 1);
  dup2(log_high, 2);
  dup2(ready_high, 3);
  close_range(4, ~0U, 0);
  if (chdir("/") != 0) _exit(127);
  execv(arguments[0], arguments.data());
  static constexpr char kMessage[] = "exec failed\n";
  if (write(2, kMessage, sizeof kMessage - 1) < 0) _exit(126);
  _exit(127);
}

// Starts the program and waits for its word. Called with the start lock held.
absl::Status launch(const std::string& program, const std::string& socket_path, Clock::time_point deadline) {
  const std::string log_path = socket_path + ".log";
  const Descriptor log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (log.get() < 0) {
    return absl::UnavailableError(str_cat("cannot write the daemon's log ", log_path, ": ", std::strerror(errno)));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(str_cat("no pipe: ", std::strerror(errno)));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const char* idle = std::getenv("HEARTH_IDLE_EXIT_S");
  std::string words[] = {program,      "--socket", socket_path, "--idle-exit", idle && *idle ? idle : kIdleExitSeconds,
                         "--ready-fd", "3"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork_daemon(arguments, log.get(), writer.get());
  if (child < 0) return absl::UnavailableError(str_cat("cannot start ", program, ": ", std::strerror(errno)));
  writer.reset();
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  for (;;) {
    pollfd wait = {reader.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left(deadline).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(
          str_cat("the daemon ", program, " did not become ready in time; its log ends: ", tail_of(log_path)));
    }
    char byte;
    const ssize_t count = read(reader.get(), &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count == 1) return absl::OkStatus();
    return absl::UnavailableError(
        str_cat("the daemon ", program, " ended before it was ready; its log ends: ", tail_of(log_path)));
  }
}

}  // namespace

absl::StatusOr<bool> daemon_accepts(const std::string& socket_path) {
  absl::Status trusted = check_socket_folder(socket_path);
  if (absl::IsNotFound(trusted)) return false;
  if (!trusted.ok()) return absl::FailedPreconditionError(std::string(trusted.message()));
  const Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno == EAGAIN || errno == EINPROGRESS;  // a full backlog: somebody listens
}

absl::StatusOr<std::string> find_daemon_program() {
  if (const char* named = std::getenv("HEARTH_DAEMON"); named && *named) {
    if (is_program(named)) return std::string(named);
    return absl::NotFoundError(str_cat("HEARTH_DAEMON names '", named, "', which is not a program"));
  }
  std::vector<fs::path> places;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (!self.empty()) places.push_back(self.parent_path());
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_daemon_program), &info) && info.dli_fname) {
    const fs::path folder = fs::absolute(info.dli_fname, ignored).parent_path();
    places.push_back(folder);
    places.push_back(folder.parent_path() / "bin");
  }
  if (const char* path = std::getenv("PATH")) {
    for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      places.emplace_back(std::string(folder));
    }
  }
  for (const fs::path& place : places) {
    if (is_program(place / "hearthd")) return (place / "hearthd").string();
  }
  return absl::NotFoundError(
      "no hearthd beside this program or on PATH; install it, start one, or set HEARTH_DAEMON to its path");
}

absl::Status start_daemon(const std::string& socket_path, Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + kDaemonStartLimit);
  absl::StatusOr<std::string> program = find_daemon_program();
  if (!program.ok()) {
    return absl::UnavailableError(str_cat("no daemon listens on ", socket_path,
                                          " and none can be started: ", std::string(program.status().message())));
  }
  if (absl::Status folder = make_socket_folder(socket_path); !folder.ok()) {
    return absl::UnavailableError(str_cat("no daemon can be started: ", std::string(folder.message())));
  }
  const std::string lock_path = socket_path + ".start";
  const Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.get() < 0) {
    return absl::UnavailableError(str_cat("cannot open the start lock ", lock_path, ": ", std::strerror(errno)));
  }
  for (;;) {
    absl::StatusOr<bool> accepts = daemon_accepts(socket_path);
    if (!accepts.ok()) return accepts.status();
    if (*accepts) return absl::OkStatus();
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) break;  // released by the kernel with the descriptor
    if (Clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          str_cat("another process holds ", lock_path, " and its daemon did not become ready in time"));
    }
    sleep_jittered(5);
  }
  absl::StatusOr<bool> accepts = daemon_accepts(socket_path);  // somebody else may have been faster
  if (!accepts.ok()) return accepts.status();
  if (*accepts) return absl::OkStatus();
  if (absl::Status launched = launch(*program, socket_path, deadline); !launched.ok()) return launched;
  while (Clock::now() < deadline) {
    accepts = daemon_accepts(socket_path);
    if (!accepts.ok()) return accepts.status();
    if (*accepts) return absl::OkStatus();
    sleep_jittered(5);
  }
  return absl::DeadlineExceededError(str_cat("the daemon ", *program, " said it is ready and does not accept on ",
                                             socket_path, "; its log ends: ", tail_of(socket_path + ".log")));
}

}  // namespace hearth::client
