// Starts hearthd so that nothing of the process that happens to start it shapes the daemon that everybody shares: its
// own session, no inherited descriptors, default signals, file mode mask, scheduling and processor set, soft resource
// limits raised to the hard ones, and of the environment only what names the user's folders and Hearth's settings. What
// the system does not let a process give back stays: namespaces, cgroup, hard limits, seccomp. Thread-safe. Errors:
// UNAVAILABLE.
//
//   absl::StatusOr<DetachedDaemon> daemon = DetachedDaemon::start("/usr/bin/hearthd", socket_path);
//   absl::Status ready = daemon->wait_until_ready(deadline);
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::client {

class DetachedDaemon {
 public:
  // Its log is appended to SOCKET.log.
  static absl::StatusOr<DetachedDaemon> start(const std::string& program, const std::string& socket_path);
  ~DetachedDaemon();
  DetachedDaemon(DetachedDaemon&& other) noexcept
      : program_(std::move(other.program_)),
        log_path_(std::move(other.log_path_)),
        log_begin_(other.log_begin_),
        ready_(std::exchange(other.ready_, -1)) {}
  DetachedDaemon& operator=(DetachedDaemon&&) = delete;

  // ALREADY_EXISTS when it ends because another daemon has the socket, UNAVAILABLE when it ends otherwise before it
  // serves, DEADLINE_EXCEEDED; all quote the end of what it logged.
  absl::Status wait_until_ready(std::chrono::steady_clock::time_point deadline);

 private:
  DetachedDaemon(std::string program, std::string log_path)
      : program_(std::move(program)), log_path_(std::move(log_path)) {}
  std::string quote_log() const;

  std::string program_;
  std::string log_path_;
  off_t log_begin_ = 0;  // where this daemon's part begins
  int ready_ = -1;       // readable when it serves or has ended
};

// The environment of a daemon that a client starts, as NAME=VALUE.
std::vector<std::string> daemon_environment();

// Where the daemon of this socket writes its log when a client started it.
std::string daemon_log_path(const std::string& socket_path);

}  // namespace hearth::client
