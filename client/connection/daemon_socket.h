// The client's end of the daemon's unix socket, below any protocol: who listens there, and whether to trust them. What
// a daemon answers is loaded into this process, so only a daemon of this user, of root or of a service's user
// (is_trusted_daemon_user) is talked to; the kernel says whose it is. Stateless; thread-safe. Errors: NOT_FOUND when
// nobody listens; PERMISSION_DENIED when the folder, the socket or the process behind it is another user's; UNAVAILABLE
// otherwise.
//
//   DaemonPeer peer;
//   absl::StatusOr<int> fd = connect_to_daemon(socket_path, deadline, &peer);
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hearth::client {

struct DaemonPeer {
  pid_t pid = 0;  // 0: of another pid namespace
  uid_t uid = static_cast<uid_t>(-1);
};

enum class DaemonSocket {
  kClients,  // the path itself: a stream
  kWeights,  // weights_socket_path: packets (proto/packet.h)
};

// A connected, non-blocking, close-on-exec descriptor that is the caller's. Waits for a listener that is slow to
// accept. `known`: the daemon that this process is connected to on the same path, and so trusts; the files are not
// looked at again when it is that one that answers.
absl::StatusOr<int> connect_to_daemon(const std::string& socket_path, std::chrono::steady_clock::time_point deadline,
                                      DaemonPeer* peer = nullptr, DaemonSocket which = DaemonSocket::kClients,
                                      const std::optional<DaemonPeer>& known = std::nullopt);

// Whether a daemon accepts connections on the socket now.
absl::StatusOr<bool> daemon_accepts(const std::string& socket_path);

// Why a daemon that accepts connections may not answer, for a person: what /proc says of the process, and the remedy.
std::string describe_unresponsive(const DaemonPeer& peer);

}  // namespace hearth::client
