#include "daemon/sockets/connection_shares.h"

#include <algorithm>
#include <limits>

namespace hearth::daemon {

void ConnectionShares::add(int fd, const ClientId& client) {
  if (processes_[client].insert(fd).second) ++users_[client.uid];
}

bool ConnectionShares::remove(int fd, const ClientId& client) {
  const auto process = processes_.find(client);
  if (process == processes_.end() || process->second.erase(fd) == 0) return false;
  if (--users_[client.uid] == 0) users_.erase(client.uid);
  if (!process->second.empty()) return false;
  processes_.erase(process);
  return true;
}

std::size_t ConnectionShares::of_process(const ClientId& client) const {
  const auto process = processes_.find(client);
  return process == processes_.end() ? 0 : process->second.size();
}

std::size_t ConnectionShares::of_user(uid_t uid) const {
  const auto user = users_.find(uid);
  return user == users_.end() ? 0 : user->second;
}

std::optional<int> ConnectionShares::to_close_for(const ClientId& newcomer) const {
  if (users_.empty()) return std::nullopt;
  const auto has_fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto user = std::max_element(users_.begin(), users_.end(), has_fewer);
  const bool from_other = user->second >= of_user(newcomer.uid) + 2;
  const uid_t uid = from_other ? user->first : newcomer.uid;
  const auto first = processes_.lower_bound({uid, std::numeric_limits<pid_t>::min()});
  const auto end = processes_.upper_bound({uid, std::numeric_limits<pid_t>::max()});
  const auto is_smaller = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto process = std::max_element(first, end, is_smaller);
  if (process == end || (!from_other && process->second.size() < of_process(newcomer) + 2)) return std::nullopt;
  return *process->second.begin();
}

}  // namespace hearth::daemon
