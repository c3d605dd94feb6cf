// ClientPolicy: which users may use a daemon: its owner alone, all of the node, those of a group, or those that are
// named. Root and the owner always may; commands that change the daemon are the owner's and root's in any case.
// The kernel says who a peer is (SO_PEERCRED, SO_PEERGROUPS). Immutable; thread-safe. Errors: INVALID_ARGUMENT naming
// the word, user or group that is not known. Example:
//   absl::StatusOr<ClientPolicy> policy = ClientPolicy::parse("group:ml");
//   if (!policy->admits(fd, peer_of(fd))) send(fd, policy->refusal(peer));
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <set>
#include <string>

#include "daemon/sockets/unix_socket.h"

namespace hearth::daemon {

class ClientPolicy {
 public:
  // The owner alone.
  ClientPolicy() = default;
  // "owner", "everyone", "group:NAME", "users:NAME,1000,…".
  static absl::StatusOr<ClientPolicy> parse(const std::string& text);

  // Whether others than the owner may be clients.
  bool is_shared() const { return kind_ != Kind::kOwner; }
  // `fd`: the peer's connection.
  bool admits(int fd, const Peer& peer) const;
  // One line for the peer, which tells why and what to do.
  std::string refusal(const Peer& peer) const;
  // As the setting has it.
  const std::string& text() const { return text_; }

 private:
  enum class Kind { kOwner, kEveryone, kGroup, kUsers };
  Kind kind_ = Kind::kOwner;
  std::string text_ = "owner";
  gid_t group_ = 0;
  std::set<uid_t> users_;
};

}  // namespace hearth::daemon
