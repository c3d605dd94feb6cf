// ArtifactGrants: which artifacts a user has been told of, and may therefore read: a digest is no secret to who can
// compile the same elsewhere, so that knowing it must not tell whether somebody of this node has it. The owner and root
// may read all. Of a user's, those named longest ago are forgotten. Thread-safe; no errors. Example:
//   grants.grant(client.uid, digests);                    // of a Prepare that is answered
//   if (!grants.allows(client.uid, digest)) return absl::NotFoundError(…);   // as if there were none
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "base/sha256.h"

namespace hearth::daemon {

class ArtifactGrants {
 public:
  static constexpr std::size_t kMaxOfUser = 100'000;

  void grant(uid_t user, const Digest& digest) {
    if (is_trusted(user)) return;
    std::lock_guard lock(mutex_);
    User& of_user = users_[user];
    if (!of_user.granted.insert(digest).second) return;
    of_user.in_order.push_back(digest);
    if (of_user.in_order.size() <= kMaxOfUser) return;
    of_user.granted.erase(of_user.in_order.front());
    of_user.in_order.pop_front();
  }

  bool allows(uid_t user, const Digest& digest) const {
    if (is_trusted(user)) return true;
    std::lock_guard lock(mutex_);
    const auto found = users_.find(user);
    return found != users_.end() && found->second.granted.count(digest) > 0;
  }

  // Whether the user can open files of the cache's folder by path.
  static bool is_trusted(uid_t user) { return user == ::geteuid() || user == 0; }

 private:
  struct User {
    std::set<Digest> granted;
    std::deque<Digest> in_order;
  };
  mutable std::mutex mutex_;
  std::map<uid_t, User> users_;
};

}  // namespace hearth::daemon
