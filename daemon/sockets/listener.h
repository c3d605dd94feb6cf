// Listener: the daemon's two unix sockets: PATH for clients and admin_socket_path(PATH) for the owner's commands, one
// daemon per path.
//
// open() creates the folder (0700; 0755 where others may be clients), takes the path's lock, replaces a dead daemon's
// sockets and binds. accept_until_stopped() gives every connection of those that may use the daemon (on the owner's
// socket: of this user or root) to its callback, which owns the descriptor, and closes those of others and those over
// the limits. Thread-safe: stop() from any thread. Errors: ALREADY_EXISTS when a
// live daemon serves the path; INVALID_ARGUMENT, PERMISSION_DENIED, NOT_FOUND as in proto/socket_path.h. Example:
//   auto listener = Listener::open(path, patience, {});
//   std::thread thread([&] { (*listener)->accept_until_stopped(serve_client, serve_owner); });
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/sockets/client_policy.h"
#include "daemon/sockets/connection_table.h"
#include "daemon/sockets/socket_lock.h"
#include "daemon/sockets/unix_socket.h"

namespace hearth::daemon {

class Listener {
 public:
  // Waits up to `patience` for a daemon that holds the lock but does not serve: it is starting. `activated`: a socket
  // on which a service manager listens already for clients, or -1; it is this object's when it is opened.
  static absl::StatusOr<std::unique_ptr<Listener>> open(const std::string& path, std::chrono::milliseconds patience,
                                                        ConnectionLimits limits, ClientPolicy policy = {},
                                                        int activated = -1);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `on_gone` is told, on the same thread, of processes whose last connection, of either socket, has ended.
  void accept_until_stopped(const std::function<void(int, const Peer&)>& on_client,
                            const std::function<void(int, const Peer&)>& on_owner,
                            const std::function<void(const ClientId&)>& on_gone = nullptr);
  // No connection is accepted from now on; the sockets' files and the lock are gone, so that another daemon may serve
  // the path at once. Files that another daemon put in their place stay.
  void stop();
  // Whether clients that open path() still reach this listener: false once the file was removed or replaced.
  bool is_reachable() const { return clients_->is_reachable(); }

  const std::string& path() const { return path_; }
  std::size_t num_connections() const { return connections_.size(); }
  std::uint64_t num_refused_connections() const { return connections_.num_refused(); }

 private:
  Listener(std::string path, ConnectionLimits limits, ClientPolicy policy)
      : path_(std::move(path)), policy_(std::move(policy)), connections_(limits) {}

  const std::string path_;
  const ClientPolicy policy_;
  std::optional<runtime::FileLock> lock_;
  std::optional<UnixSocket> clients_;
  std::optional<UnixSocket> owner_;
  ConnectionTable connections_;
  LogLimit no_descriptors_;
  int stop_event_ = -1;
};

}  // namespace hearth::daemon
