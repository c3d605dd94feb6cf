#include "daemon/sockets/connection_table.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

namespace hearth::daemon {
namespace {

constexpr int kEventsAtOnce = 64;

}  // namespace

ConnectionTable::ConnectionTable(ConnectionLimits limits) : limits_(limits), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

ConnectionTable::~ConnectionTable() {
  for (const auto& [fd, client] : open_) ::close(fd);
  ::close(epoll_);
}

bool ConnectionTable::admit(int fd, const Peer& peer) {
  forget_closed();
  const auto refuse = [&](const std::string& why) {
    if (const auto times = refused_.count(static_cast<std::uint64_t>(peer.pid)))
      spdlog::warn("refused a connection of process {}: {} ({} times in the last minute)", peer.pid, why, *times);
    return false;
  };
  const ClientId client{peer.uid, peer.pid};
  const std::size_t num_own = shares_.of_process(client);
  if (num_own >= limits_.per_process)
    return refuse(fmt::format("it has {} open, the most that max_connections_per_process allows", num_own));
  if (open_.size() >= limits_.total && !make_room(client))
    return refuse(fmt::format("{} are open, the most that max_connections allows", open_.size()));
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  epoll_event event{};
  event.events = EPOLLRDHUP;  // EPOLLHUP is always told
  event.data.fd = duplicate;
  if (duplicate < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, duplicate, &event) != 0) {
    if (duplicate >= 0) ::close(duplicate);
    return refuse("no descriptor is left");
  }
  open_.emplace(duplicate, client);
  shares_.add(duplicate, client);
  size_ = open_.size();
  return true;
}

bool ConnectionTable::make_room(const ClientId& newcomer) {
  const std::optional<int> fd = shares_.to_close_for(newcomer);
  if (!fd) return false;
  const ClientId loser = open_.at(*fd);
  if (const auto times = refused_.count(static_cast<std::uint64_t>(loser.pid))) {
    spdlog::warn(
        "closed a connection of process {}, which has {}, of {} of user {}: max_connections is reached, and process {} "
        "of user {} comes with its own ({} times in the last minute)",
        loser.pid, shares_.of_process(loser), shares_.of_user(loser.uid), loser.uid, newcomer.pid, newcomer.uid,
        *times);
  }
  ::shutdown(*fd, SHUT_RDWR);  // gRPC's end of it closes then
  forget(*fd);
  return true;
}

void ConnectionTable::forget(int fd) {
  const auto entry = open_.find(fd);
  if (entry == open_.end()) return;
  // Explicitly: gRPC's descriptor may keep the connection, and so the registration, for a moment longer.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  ::close(fd);
  const ClientId client = entry->second;
  open_.erase(entry);
  if (shares_.remove(fd, client) && on_gone_) on_gone_(client);
}

void ConnectionTable::forget_closed() {
  epoll_event events[kEventsAtOnce];
  for (int count = kEventsAtOnce; count == kEventsAtOnce;) {
    count = ::epoll_wait(epoll_, events, kEventsAtOnce, 0);
    for (int i = 0; i < count; ++i) forget(events[i].data.fd);
  }
  size_ = open_.size();
}

}  // namespace hearth::daemon
