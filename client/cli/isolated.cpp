#include "client/cli/isolated.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

bool write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = write(fd, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

// False with `timed_out` at the deadline, false without at the end of the pipe.
bool read_all(int fd, void* data, std::size_t size, Clock::time_point deadline, bool* timed_out) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready = {fd, POLLIN, 0};
    const int count = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) {
      *timed_out = true;
      return false;
    }
    const ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

class Child {
 public:
  static absl::StatusOr<Child> start(std::size_t first, std::size_t count,
                                     const std::function<std::string(std::size_t)>& work) {
    int ends[2];
    if (pipe(ends) != 0) return absl::ResourceExhaustedError(str_cat("pipe: ", std::strerror(errno)));
    std::fflush(nullptr);  // what is buffered would be written by both
    const pid_t pid = fork();
    if (pid < 0) {
      close(ends[0]);
      close(ends[1]);
      return absl::ResourceExhaustedError(str_cat("fork: ", std::strerror(errno)));
    }
    if (pid == 0) {
      close(ends[0]);
      for (std::size_t i = first; i < count; ++i) {
        const std::string text = work(i);
        const std::uint64_t size = text.size();
        if (!write_all(ends[1], &size, sizeof(size)) || !write_all(ends[1], text.data(), text.size())) _exit(1);
      }
      _exit(0);  // no destructor of the parent's objects, no exit handler
    }
    close(ends[1]);
    return Child(pid, ends[0]);
  }

  absl::StatusOr<std::string> next(std::chrono::milliseconds limit) {
    const Clock::time_point deadline = Clock::now() + limit;
    std::uint64_t size = 0;
    bool timed_out = false;
    std::string text;
    if (read_all(fd_, &size, sizeof(size), deadline, &timed_out)) {
      text.resize(size);
      if (read_all(fd_, text.data(), size, deadline, &timed_out)) return text;
    }
    if (!timed_out) return absl::AbortedError(end());
    kill(pid_, SIGKILL);
    end();
    return absl::DeadlineExceededError(str_cat("took longer than ", limit.count(), " ms"));
  }

  // Waits for the process and says how it ended.
  std::string end() {
    close(fd_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) return str_cat("the process was killed by signal ", WTERMSIG(status));
    return str_cat("the process ended with exit code ", WEXITSTATUS(status));
  }

 private:
  Child(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  pid_t pid_;
  int fd_;
};

}  // namespace

absl::Status run_isolated(std::size_t count, std::chrono::milliseconds limit,
                          const std::function<std::string(std::size_t)>& work,
                          const std::function<void(std::size_t, absl::StatusOr<std::string>)>& done) {
  std::size_t i = 0;
  while (i < count) {
    HEARTH_ASSIGN_OR_RETURN(Child child, Child::start(i, count, work));
    bool alive = true;
    while (alive && i < count) {
      absl::StatusOr<std::string> text = child.next(limit);
      alive = text.ok();
      done(i++, std::move(text));
    }
    if (alive) child.end();
  }
  return absl::OkStatus();
}

}  // namespace hearth::cli
