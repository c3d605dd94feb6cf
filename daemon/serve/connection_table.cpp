#include "daemon/serve/connection_table.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

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
  const auto own = per_process_.find(client);
  const std::size_t num_own = own == per_process_.end() ? 0 : own->second.size();
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
  per_process_[client].insert(duplicate);
  size_ = open_.size();
  return true;
}

bool ConnectionTable::make_room(const ClientId& newcomer) {
  const auto has_fewer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::max_element(per_process_.begin(), per_process_.end(), has_fewer);
  const auto own = per_process_.find(newcomer);
  const std::size_t num_own = own == per_process_.end() ? 0 : own->second.size();
  if (most == per_process_.end() || most->second.size() < num_own + 2) return false;
  if (const auto times = refused_.count(static_cast<std::uint64_t>(most->first.pid)))
    spdlog::warn(
        "closed a connection of process {}, which has {}, the most of all: max_connections is reached, and "
        "process {} comes with its own ({} times in the last minute)",
        most->first.pid, most->second.size(), newcomer.pid, *times);
  const int closed = *most->second.begin();
  ::shutdown(closed, SHUT_RDWR);  // gRPC's end of it closes then
  forget(closed);
  return true;
}

void ConnectionTable::forget(int fd) {
  const auto entry = open_.find(fd);
  if (entry == open_.end()) return;
  // Explicitly: gRPC's descriptor may keep the connection, and so the registration, for a moment longer.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  ::close(fd);
  const auto process = per_process_.find(entry->second);
  process->second.erase(fd);
  const ClientId client = process->first;
  const bool was_last = process->second.empty();
  if (was_last) per_process_.erase(process);
  open_.erase(entry);
  if (was_last && on_gone_) on_gone_(client);
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
