// StatusServer: what operators' tools ask a daemon by HTTP, on a port or a unix socket that only the daemon's user
// can connect to: /metrics (Prometheus), /live, /ready (503 while degraded, with the reasons). Answers are made
// when asked for; requests of more than a few KiB and other methods are refused; of many connections the oldest is closed. Threads: one of its own
// (libmicrohttpd's); the page functions are called on it. Errors: INVALID_ARGUMENT for an address that other machines
// reach and was not said to be public;
// UNAVAILABLE naming one that cannot be listened on. Example:
//   auto server = StatusServer::start("127.0.0.1:9464", false, {.metrics = …, .health = …});
#pragma once
#include <absl/status/statusor.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

struct MHD_Connection;
struct MHD_Daemon;

namespace hearth::daemon {

class StatusServer {
 public:
  struct Pages {
    std::function<std::string()> metrics;
    std::function<std::string()> health;  // "ready", or "degraded: …"
  };

  // "127.0.0.1:PORT", "[::1]:PORT" or an absolute path; with `is_public` any numeric address, also 0.0.0.0 and [::].
  static absl::StatusOr<std::unique_ptr<StatusServer>> start(const std::string& address, bool is_public, Pages pages);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // Open ones, the oldest first; the server's thread's own.
  using Connections = std::deque<MHD_Connection*>;

  const Pages& pages() const { return pages_; }
  Connections& connections() { return connections_; }
  // Where it listens: the path, or the address with the port that it has, also where 0 left the choice to the system.
  const std::string& address() const { return address_; }

 private:
  StatusServer(Pages pages, std::string path) : pages_(std::move(pages)), path_(std::move(path)) {}

  const Pages pages_;
  const std::string path_;  // of a unix socket; empty: a port
  std::string address_;
  Connections connections_;
  MHD_Daemon* http_ = nullptr;
};

}  // namespace hearth::daemon
