#include "daemon/sockets/listener.h"

#include <absl/strings/str_cat.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/status_macros.h"
#include "proto/socket_path.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::open(const std::string& path, std::chrono::milliseconds patience,
                                                         ConnectionLimits limits, ClientPolicy policy, int activated) {
  const bool for_all = policy.is_shared();
  HEARTH_RETURN_IF_ERROR(make_socket_folder(path, for_all ? 0755 : 0700));
  std::unique_ptr<Listener> listener(new Listener(path, limits, std::move(policy)));
  HEARTH_ASSIGN_OR_RETURN(runtime::FileLock lock, lock_socket(path, patience));
  listener->lock_ = std::move(lock);
  // With the lock held no daemon of ours serves it; another program still might.
  if (activated < 0 && is_served(path))
    return absl::AlreadyExistsError(absl::StrCat("another program already serves '", path, "'"));
  // The owner's first: who finds the clients' socket finds it too.
  HEARTH_ASSIGN_OR_RETURN(UnixSocket owner, UnixSocket::open(admin_socket_path(path)));
  listener->owner_ = std::move(owner);
  HEARTH_ASSIGN_OR_RETURN(UnixSocket clients, activated >= 0 ? UnixSocket::adopt(activated, path)
                                                             : UnixSocket::open(path, SOCK_STREAM, for_all));
  listener->clients_ = std::move(clients);
  if (const absl::Status linked = listener->clients_->link_to(mountable_socket_path(path), for_all); !linked.ok())
    spdlog::warn("containers cannot be given the clients' socket alone: {}", std::string(linked.message()));
  listener->stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return listener;
}

Listener::~Listener() {
  if (stop_event_ >= 0) ::close(stop_event_);
}

void Listener::accept_until_stopped(const std::function<void(int, const Peer&)>& on_client,
                                    const std::function<void(int, const Peer&)>& on_owner,
                                    const std::function<void(const ClientId&)>& on_gone) {
  connections_.set_on_gone(on_gone);
  for (;;) {
    pollfd entries[] = {{stop_event_, POLLIN, 0},
                        {clients_->fd(), POLLIN, 0},
                        {owner_->fd(), POLLIN, 0},
                        {connections_.event_fd(), POLLIN, 0}};
    if (::poll(entries, std::size(entries), -1) < 0 && errno != EINTR) break;
    if (entries[0].revents != 0) break;
    if (entries[3].revents != 0) connections_.forget_closed();
    for (const int socket : {clients_->fd(), owner_->fd()}) {
      const int fd = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        // Out of descriptors: the connection stays in the backlog until some are closed.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
          if (const auto times = no_descriptors_.count(0))
            spdlog::warn("cannot accept connections: {} ({} times in the last minute)", std::strerror(errno), *times);
          std::this_thread::sleep_for(kAcceptPause);
        }
        continue;
      }
      const Peer peer = peer_of(fd);
      const bool is_owners = socket == owner_->fd();
      if (!(is_owners ? is_trusted(peer) : policy_.admits(fd, peer))) {
        refuse_peer(fd, peer, policy_.refusal(peer));
        ::close(fd);
      } else if (!connections_.admit(fd, peer)) {
        ::close(fd);
      } else {
        (is_owners ? on_owner : on_client)(fd, peer);
      }
    }
  }
  // Who waits to be accepted is refused now and tries again, instead of waiting for this process to end.
  clients_->close();
  owner_->close();
}

void Listener::stop() {
  // In this order: whoever finds no socket finds no lock either, a moment later.
  clients_->remove();
  owner_->remove();
  lock_->release();
  ::eventfd_write(stop_event_, 1);
}

}  // namespace hearth::daemon
