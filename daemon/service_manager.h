// ServiceManager: what a daemon and systemd say to one another: the socket that it listens on for the daemon, that the
// daemon is ready, alive, about to leave. Without systemd nothing is said. Not thread-safe: the main thread's.
// Errors: INVALID_ARGUMENT when it passes more than one socket. Example:
//   const ServiceManager manager;
//   absl::StatusOr<int> socket = manager.socket();   // -1: the daemon makes its own
//   manager.notify_ready();
#pragma once
#include <absl/status/statusor.h>

namespace hearth::daemon {

class ServiceManager {
 public:
  // Takes what the environment says out of it, so that no worker is told.
  ServiceManager();

  absl::StatusOr<int> socket() const;
  void notify_ready() const;
  void notify_stopping() const;
  // To be called at least every alive_every_ms() (-1: never), else the daemon is restarted (WatchdogSec=).
  void notify_alive() const;
  int alive_every_ms() const { return alive_every_ms_; }

 private:
  int num_sockets_ = 0;
  int alive_every_ms_ = -1;
};

}  // namespace hearth::daemon
