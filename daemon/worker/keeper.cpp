#include "daemon/worker/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "daemon/worker_pool/worker_usage.h"

namespace hearth::daemon {
namespace {

// Both ends, closed on exec.
struct Pipe {
  int read_end = -1, write_end = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0], write_end = ends[1];
    return true;
  }
};

sigset_t watched_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGCHLD);
  ::sigaddset(&signals, SIGTERM);
  return signals;
}

// fork() into new namespaces; glibc has no function for it.
pid_t fork_into(int flags) { return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0)); }

std::string why_no_namespace(int error) {
  if (error == EPERM) return "a sysctl, a security module or the container forbids it";
  if (error == ENOSPC) return "no more are allowed, by sysctl user.max_*_namespaces";
  return std::strerror(error);
}

// The flags of `wanted` that can be had together: tried one after the other, in processes that end at once.
int obtainable(int wanted, std::map<int, std::string>* why) {
  int flags = 0;
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC}) {
    if ((wanted & flag) == 0) continue;
    const pid_t trial = fork_into(flags | flag);
    if (trial == 0) ::_exit(0);
    if (trial < 0) {
      (*why)[flag] = why_no_namespace(errno);
      continue;
    }
    while (::waitpid(trial, nullptr, 0) < 0 && errno == EINTR) {
    }
    flags |= flag;
  }
  return flags;
}

bool write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(fd);
  errno = error;
  return written;
}

// The user stays who they are, and is the only one there.
std::string map_user(uid_t user, gid_t group) {
  const auto only = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1\n"; };
  write_text("/proc/self/setgroups", "deny");  // not needed by root
  if (write_text("/proc/self/uid_map", only(user)) && write_text("/proc/self/gid_map", only(group))) return {};
  return std::strerror(errno);
}

// Ends with the process above it. False when that one is gone already: then nobody holds `life` any more.
bool die_with_parent(const Pipe& life) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(life.write_end);
  pollfd entry{life.read_end, 0, 0};
  return ::poll(&entry, 1, 0) == 0;
}

// Collects what ends and tells how the worker did; process 1 where there is a pid namespace.
[[noreturn]] void be_init(pid_t worker, int status_pipe) {
  ::prctl(PR_SET_NAME, "hearth-init");
  ::dup2(status_pipe, 0);
  ::close_range(1, ~0u, 0);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == worker) {
      (void)!::write(0, &status, sizeof(status));
      ::_exit(0);  // and with it the namespace
    }
    if (ended < 0 && errno != EINTR) ::_exit(1);
  }
}

// The keeper's own life, from the fork on.
class Keeper {
 public:
  // `init`: what the worker is a child of. `alone`: in a pid namespace with all that the worker starts.
  Keeper(const KeeperOptions& options, pid_t init, bool alone, int status_pipe)
      : options_(options), init_(init), alone_(alone), status_pipe_(status_pipe) {}

  [[noreturn]] void run() {
    ::prctl(PR_SET_NAME, "hearth-keeper");
    const sigset_t signals = watched_signals();
    const int signal_fd = ::signalfd(-1, &signals, SFD_CLOEXEC);
    bool has_ended = false;
    while (!has_ended) {
      pollfd entries[2] = {{signal_fd, POLLIN, 0}, {options_.socket, POLLRDHUP, 0}};
      if (::poll(entries, 2, -1) < 0 && errno != EINTR) break;
      if (entries[1].revents != 0) break;  // the daemon wants no more of it, or is gone
      signalfd_siginfo info{};
      if (entries[0].revents == 0 || ::read(signal_fd, &info, sizeof(info)) != sizeof(info)) continue;
      if (info.ssi_signo == SIGTERM) break;
      has_ended = collect(WNOHANG);
    }
    if (!has_ended) {
      ::kill(init_, SIGKILL);
      collect(0);
    }
    if (!alone_) kill_descendants(::getpid());
    if (!options_.remove.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(options_.remove, ignored);
    }
    end_like_worker();
  }

 private:
  // True once init has ended; collects adopted orphans too.
  bool collect(int flags) {
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(flags == 0 ? init_ : -1, &status, flags)) != 0;) {
      if (ended < 0 && errno != EINTR) return true;
      if (ended != init_) continue;
      // Without a word from it, init was killed, and the worker with it: then its own end tells.
      int told = 0;
      status_ = ::read(status_pipe_, &told, sizeof(told)) == sizeof(told) ? told : status;
      return true;
    }
    return false;
  }

  [[noreturn]] void end_like_worker() {
    if (WIFEXITED(status_)) ::_exit(WEXITSTATUS(status_));
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(status_);
    ::signal(number, SIG_DFL);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, number);
    ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    ::kill(::getpid(), number);
    ::_exit(128 + number);
  }

  const KeeperOptions& options_;
  const pid_t init_;
  const bool alone_;
  const int status_pipe_;
  int status_ = 0;
};

}  // namespace

std::optional<Namespaces> start_beneath_keeper(const KeeperOptions& options) {
  sigset_t before;
  const sigset_t signals = watched_signals();
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (options.parent > 0 && ::getppid() != options.parent) return std::nullopt;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Pipe status, life;
  if (!status.open() || !life.open()) return std::nullopt;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();

  Namespaces made{options.wanted, {}, ""};
  pid_t init = fork_into(made.flags);
  if (init < 0) {
    made.flags = obtainable(options.wanted, &made.why);
    init = fork_into(made.flags);
  }
  if (init < 0) ::_exit(1);
  if (init > 0) {
    ::close(status.write_end), ::close(life.read_end);
    Keeper(options, init, (made.flags & CLONE_NEWPID) != 0, status.read_end).run();
  }
  if (!die_with_parent(life)) ::_exit(1);
  if ((made.flags & CLONE_NEWUSER) != 0) made.unmapped = map_user(user, group);
  // A fork that glibc knows of: it keeps the numbers of threads.
  const pid_t worker = ::fork();
  if (worker < 0) ::_exit(1);
  if (worker > 0) be_init(worker, status.write_end);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fd : {status.read_end, status.write_end, life.read_end}) ::close(fd);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace hearth::daemon
