// ConnectionTable: how many connections are open, in all and for each client process, and the limits on both.
//
// A connection's descriptor belongs to gRPC; the table keeps a duplicate of it to see when it ends. Belongs to one
// thread, except size(). Example:
//   if (!table.admit(fd, peer_of(fd))) ::close(fd);
//   poll({table.event_fd(), POLLIN}); table.forget_closed();
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>

#include "daemon/serve/unix_socket.h"

namespace hearth::daemon {

struct ConnectionLimits {
  std::size_t total = 8192;
  std::size_t per_process = 256;
};

class ConnectionTable {
 public:
  explicit ConnectionTable(ConnectionLimits limits);
  ~ConnectionTable();
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // False, and a line in the log, when the connection would exceed a limit; the caller keeps `fd` either way.
  bool admit(int fd, const Peer& peer);
  void forget_closed();
  // Readable when forget_closed() has something to do.
  int event_fd() const { return epoll_; }
  std::size_t size() const { return size_.load(); }

 private:
  const ConnectionLimits limits_;
  const int epoll_;
  std::map<int, pid_t> open_;  // duplicate -> client
  std::map<pid_t, std::size_t> per_process_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace hearth::daemon
