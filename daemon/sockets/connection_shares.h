// ConnectionShares: who has which of the open connections, and whose is closed for a newcomer when all are taken: one
// of the user's with the most, of that user's process with the most. Who would then have more than who lost it gets
// none, so nobody is kept out by who has many, and however many processes a user starts, others find their share.
//
// Owns nothing; descriptors are only names here. Not thread-safe. Example:
//   if (is_full) if (std::optional<int> fd = shares.to_close_for(client)) close(*fd);
//   shares.add(fd, client);
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "daemon/client_id.h"

namespace hearth::daemon {

class ConnectionShares {
 public:
  void add(int fd, const ClientId& client);
  // True when it was the process's last.
  bool remove(int fd, const ClientId& client);

  std::size_t of_process(const ClientId& client) const;
  std::size_t of_user(uid_t uid) const;
  // Nothing where no user and, of the newcomer's user, no process has at least two more.
  std::optional<int> to_close_for(const ClientId& newcomer) const;

 private:
  std::map<ClientId, std::set<int>> processes_;  // none is empty
  std::map<uid_t, std::size_t> users_;           // none is 0
};

}  // namespace hearth::daemon
