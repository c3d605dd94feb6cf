#include "daemon/serve/connection_table.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace hearth::daemon {
namespace {

constexpr int kEventsAtOnce = 64;

}  // namespace

ConnectionTable::ConnectionTable(ConnectionLimits limits) : limits_(limits), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

ConnectionTable::~ConnectionTable() {
  for (const auto& [fd, pid] : open_) ::close(fd);
  ::close(epoll_);
}

bool ConnectionTable::admit(int fd, const Peer& peer) {
  forget_closed();
  if (open_.size() >= limits_.total) {
    spdlog::warn("refused a connection of process {}: {} are open, the most that max_connections allows", peer.pid,
                 open_.size());
    return false;
  }
  std::size_t& of_process = per_process_[peer.pid];
  if (of_process >= limits_.per_process) {
    spdlog::warn("refused a connection of process {}: it has {} open, the most that max_connections_per_process allows",
                 peer.pid, of_process);
    return false;
  }
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  epoll_event event{};
  event.events = EPOLLRDHUP;  // EPOLLHUP is always told
  event.data.fd = duplicate;
  if (duplicate < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, duplicate, &event) != 0) {
    spdlog::warn("refused a connection of process {}: no descriptor is left", peer.pid);
    if (duplicate >= 0) ::close(duplicate);
    if (of_process == 0) per_process_.erase(peer.pid);
    return false;
  }
  ++of_process;
  open_.emplace(duplicate, peer.pid);
  size_ = open_.size();
  return true;
}

void ConnectionTable::forget_closed() {
  epoll_event events[kEventsAtOnce];
  for (int count = kEventsAtOnce; count == kEventsAtOnce;) {
    count = ::epoll_wait(epoll_, events, kEventsAtOnce, 0);
    for (int i = 0; i < count; ++i) {
      const auto entry = open_.find(events[i].data.fd);
      if (entry == open_.end()) continue;
      // Explicitly: gRPC's descriptor may keep the connection, and so the registration, for a moment longer.
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, entry->first, nullptr);
      ::close(entry->first);
      if (auto process = per_process_.find(entry->second); --process->second == 0) per_process_.erase(process);
      open_.erase(entry);
    }
  }
  size_ = open_.size();
}

}  // namespace hearth::daemon
