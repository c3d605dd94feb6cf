#include "daemon/leases.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace hearth::daemon {

std::uint64_t Leases::open_session() {
  std::lock_guard lock(mutex_);
  const std::uint64_t id = ++last_id_;
  sessions_[id];
  return id;
}

void Leases::close_session(std::uint64_t session) {
  std::map<std::uint64_t, Held> released;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  released.swap(it->second);
  sessions_.erase(it);
}

absl::StatusOr<std::uint64_t> Leases::add(std::uint64_t session, Held held) {
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", session, " is not open: keep a Session stream open while you hold leases"));
  }
  const std::uint64_t id = ++last_id_;
  it->second.emplace(id, std::move(held));
  return id;
}

void Leases::release(std::uint64_t session, std::uint64_t lease) {
  Held released;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  auto entry = it->second.find(lease);
  if (entry == it->second.end()) return;
  released = std::move(entry->second);
  it->second.erase(entry);
}

std::size_t Leases::num_sessions() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

std::size_t Leases::num_leases() const {
  std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [session, leases] : sessions_) count += leases.size();
  return count;
}

}  // namespace hearth::daemon
