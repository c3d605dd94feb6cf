// HearthDaemon: the assembled daemon: opens the cache, serves the socket, looks after idle exit, drains.
//
// start() returns when the socket serves; workers start afterwards. The owner waits for stop_event() to become
// readable (Shutdown RPC, idle exit) or for its own signals, then calls drain() once. Thread-safe except drain() and
// the destructor. Errors: as Listener::open and KernelsCache::open. Example:
//   auto daemon = HearthDaemon::start(config);
//   poll_for((*daemon)->stop_event(), signals);
//   (*daemon)->drain();
#pragma once
#include <absl/status/statusor.h>

#include <memory>

#include "daemon/config.h"

namespace hearth::daemon {

class HearthDaemon {
 public:
  static absl::StatusOr<std::unique_ptr<HearthDaemon>> start(const Config& config);
  ~HearthDaemon();
  HearthDaemon(const HearthDaemon&) = delete;
  HearthDaemon& operator=(const HearthDaemon&) = delete;

  // Readable once the daemon wants to end.
  int stop_event() const;
  // NOT_SERVING at once, no new calls, running ones get up to config.drain_ms. True when all of them ended by then.
  bool drain();

 private:
  class Impl;
  explicit HearthDaemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::daemon
