// ConnectionTable: which connections are open, in all and for each client process, and the limits on both.
//
// A connection's descriptor belongs to gRPC; the table keeps a duplicate of it to see when it ends. When the table is
// full, ConnectionShares says who loses one to the newcomer. Belongs to one thread, except size() and num_refused().
// Example:
//   if (!table.admit(fd, peer_of(fd))) ::close(fd);
//   poll({table.event_fd(), POLLIN}); table.forget_closed();
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "daemon/client_id.h"
#include "daemon/log_limit.h"
#include "daemon/sockets/connection_shares.h"
#include "daemon/sockets/unix_socket.h"

namespace hearth::daemon {

struct ConnectionLimits {
  std::size_t total = 512;
  std::size_t per_process = 256;
};

class ConnectionTable {
 public:
  explicit ConnectionTable(ConnectionLimits limits);
  ~ConnectionTable();
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // False, and a line in the log a minute and process, when the connection would exceed a limit; the caller keeps `fd`
  // either way.
  bool admit(int fd, const Peer& peer);
  void forget_closed();
  // `gone` is told of each process whose last connection has ended.
  void set_on_gone(std::function<void(const ClientId&)> gone) { on_gone_ = std::move(gone); }
  // Readable when forget_closed() has something to do.
  int event_fd() const { return epoll_; }
  std::size_t size() const { return size_.load(); }
  std::uint64_t num_refused() const { return refused_.total(); }

 private:
  const ConnectionLimits limits_;
  const int epoll_;
  std::map<int, ClientId> open_;  // duplicate -> client
  bool make_room(const ClientId& newcomer);
  void forget(int fd);

  ConnectionShares shares_;  // of the duplicates
  std::function<void(const ClientId&)> on_gone_;
  LogLimit refused_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace hearth::daemon
