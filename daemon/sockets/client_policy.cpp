#include "daemon/sockets/client_policy.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace hearth::daemon {
namespace {

constexpr std::size_t kEntryBytes = 1 << 16;  // of an entry of the user or group database

std::optional<uid_t> user_of(const std::string& name) {
  uid_t number = 0;
  if (absl::SimpleAtoi(name, &number)) return number;
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return entry.pw_uid;
}

std::optional<gid_t> group_of(const std::string& name) {
  gid_t number = 0;
  if (absl::SimpleAtoi(name, &number)) return number;
  std::vector<char> buffer(kEntryBytes);
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return entry.gr_gid;
}

// Whether the peer's own group or a supplementary one is `group`.
bool is_in_group(int fd, gid_t group) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && credentials.gid == group) return true;
  std::vector<gid_t> groups(64);
  for (;;) {
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) break;
    if (errno != ERANGE) return false;
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

absl::StatusOr<ClientPolicy> ClientPolicy::parse(const std::string& text) {
  ClientPolicy policy;
  policy.text_ = text;
  absl::string_view rest = text;
  if (text == "owner") return policy;
  if (text == "everyone") {
    policy.kind_ = Kind::kEveryone;
    return policy;
  }
  if (absl::ConsumePrefix(&rest, "group:")) {
    const std::optional<gid_t> group = group_of(std::string(rest));
    if (!group) return absl::InvalidArgumentError(absl::StrCat("there is no group '", rest, "' on this machine"));
    policy.kind_ = Kind::kGroup;
    policy.group_ = *group;
    return policy;
  }
  if (absl::ConsumePrefix(&rest, "users:")) {
    policy.kind_ = Kind::kUsers;
    for (absl::string_view name : absl::StrSplit(rest, ',')) {
      const std::optional<uid_t> user = user_of(std::string(name));
      if (!user) return absl::InvalidArgumentError(absl::StrCat("there is no user '", name, "' on this machine"));
      policy.users_.insert(*user);
    }
    return policy;
  }
  return absl::InvalidArgumentError("expected owner, everyone, group:NAME or users:NAME,NAME");
}

bool ClientPolicy::admits(int fd, const Peer& peer) const {
  if (is_trusted(peer)) return true;
  switch (kind_) {
    case Kind::kOwner:
      return false;
    case Kind::kEveryone:
      return peer.uid != static_cast<uid_t>(-1);
    case Kind::kGroup:
      return is_in_group(fd, group_);
    case Kind::kUsers:
      return users_.count(peer.uid) > 0;
  }
  return false;
}

std::string ClientPolicy::refusal(const Peer& peer) const {
  if (kind_ == Kind::kOwner) {
    return absl::StrCat("this daemon serves user ", ::geteuid(), " alone, you are user ", peer.uid,
                        ": choose another socket with --socket or HEARTH_SOCKET");
  }
  return absl::StrCat("this daemon serves ", text_, ", and you are user ", peer.uid,
                      ": ask its operator, or choose another socket with --socket or HEARTH_SOCKET");
}

}  // namespace hearth::daemon
