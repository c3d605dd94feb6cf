#include "daemon/worker/guardian.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "daemon/worker_usage.h"

namespace hearth::daemon {

void start_guardian(int socket) {
  std::thread([socket] {
    pollfd entry{socket, POLLRDHUP, 0};
    while (::poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
    kill_descendants(::getpid());
    ::_exit(0);
  }).detach();
}

}  // namespace hearth::daemon
