#include "daemon/prepare/leases.h"

#include <absl/strings/str_cat.h>
#include <sys/random.h>

#include <algorithm>
#include <random>
#include <utility>

namespace hearth::daemon {
namespace {

// Not 0, which means "none" on the wire.
std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (id == 0) {
    if (::getrandom(&id, sizeof(id), 0) != static_cast<ssize_t>(sizeof(id))) {
      std::random_device device;
      id = static_cast<std::uint64_t>(device()) << 32 | device();
    }
  }
  return id;
}

}  // namespace

std::uint64_t Leases::open_session(const ClientId& client) {
  std::lock_guard lock(mutex_);
  std::uint64_t id = random_id();
  while (!sessions_.try_emplace(id, Session{client, {}}).second) id = random_id();
  return id;
}

void Leases::give_back(const ClientId& client, std::size_t count) {
  const auto own = of_client_.find(client);
  if (own != of_client_.end() && (own->second -= std::min(own->second, count)) == 0) of_client_.erase(own);
}

void Leases::close_session(std::uint64_t session) {
  std::map<std::uint64_t, Held> released;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  released.swap(it->second.leases);
  num_leases_ -= released.size();
  give_back(it->second.client, released.size());
  sessions_.erase(it);
}

absl::StatusOr<std::uint64_t> Leases::add(std::uint64_t session, Held held) {
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", session, " is not open: keep a Session stream open while you hold leases"));
  }
  if (num_leases_ >= max_leases_) {
    return absl::ResourceExhaustedError(absl::StrCat("clients hold ", num_leases_, " leases, as many as are allowed"));
  }
  std::size_t& own = of_client_[it->second.client];
  if (own >= std::max<std::size_t>(1, max_leases_ / 2)) {
    const ClientId& client = it->second.client;
    return absl::ResourceExhaustedError(
        absl::StrCat(name_of(client), " holds ", own, " leases, as many as one ", kind_of(client), " may"));
  }
  std::uint64_t id = random_id();
  while (!it->second.leases.try_emplace(id, held).second) id = random_id();
  ++num_leases_;
  ++own;
  return id;
}

void Leases::release(std::uint64_t session, std::uint64_t lease) {
  Held released;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  auto entry = it->second.leases.find(lease);
  if (entry == it->second.leases.end()) return;
  released = std::move(entry->second);
  it->second.leases.erase(entry);
  --num_leases_;
  give_back(it->second.client, 1);
}

std::size_t Leases::num_sessions() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

std::size_t Leases::num_leases() const {
  std::lock_guard lock(mutex_);
  return num_leases_;
}

}  // namespace hearth::daemon
