#include "daemon/build/leases.h"

#include <absl/strings/str_cat.h>
#include <sys/random.h>

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

std::uint64_t Leases::open_session() {
  std::lock_guard lock(mutex_);
  std::uint64_t id = random_id();
  while (!sessions_.try_emplace(id).second) id = random_id();
  return id;
}

void Leases::close_session(std::uint64_t session) {
  std::map<std::uint64_t, Held> released;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  released.swap(it->second);
  num_leases_ -= released.size();
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
  std::uint64_t id = random_id();
  while (!it->second.try_emplace(id, held).second) id = random_id();
  ++num_leases_;
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
  --num_leases_;
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
