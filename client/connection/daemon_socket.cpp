#include "client/connection/daemon_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/cancellation.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/socket_path.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetryEvery{2};

// ": it belongs to user 0, you are user 1000", as far as it can be seen.
std::string whose(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || info.st_uid == ::geteuid()) return "";
  return str_cat(": it belongs to user ", info.st_uid, ", you are user ", ::geteuid());
}

absl::Status not_connected(const std::string& socket_path, int error) {
  const std::string message = str_cat("cannot connect to ", socket_path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(str_cat(message, whose(socket_path)));
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status check_peer(const std::string& socket_path, const DaemonPeer& peer) {
  if (is_trusted_daemon_user(socket_path, peer.uid)) return absl::OkStatus();
  return absl::PermissionDeniedError(str_cat("the daemon on ", socket_path, " (pid ", peer.pid, ") runs as user ",
                                             peer.uid, ", whose code would run in this process, and you are user ",
                                             ::geteuid(), ": choose another socket with --socket or HEARTH_SOCKET"));
}

}  // namespace

absl::StatusOr<int> connect_to_daemon(const std::string& socket_path, Clock::time_point deadline, DaemonPeer* peer,
                                      DaemonSocket which, const std::optional<DaemonPeer>& known) {
  HEARTH_RETURN_IF_ERROR(check_socket_path(socket_path));
  if (!known) {
    HEARTH_RETURN_IF_ERROR(check_socket_folder(socket_path));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_for_clients = which == DaemonSocket::kClients;
  const std::string path = is_for_clients ? socket_path : weights_socket_path(socket_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int type = is_for_clients ? SOCK_STREAM : SOCK_SEQPACKET;
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ResourceExhaustedError(str_cat("no socket: ", std::strerror(errno)));
  absl::Status status;
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // A full backlog: somebody listens and is slow to accept.
    const int error = errno;
    if ((error == EAGAIN || error == EINTR) && Clock::now() < deadline && !is_cancelled()) {
      std::this_thread::sleep_for(kRetryEvery);
      continue;
    }
    status = error == EAGAIN ? absl::UnavailableError(str_cat("nobody accepted on ", socket_path, " by the deadline"))
                             : not_connected(socket_path, error);
    break;
  }
  if (status.ok()) {
    DaemonPeer found;
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) found = {credentials.pid, credentials.uid};
    if (peer != nullptr) *peer = found;
    const bool is_known = known && found.uid == known->uid && found.pid == known->pid;
    if (known && !is_known) status = check_socket_folder(socket_path);
    if (status.ok() && !is_known) status = check_peer(socket_path, found);
  }
  if (status.ok()) return fd;
  ::close(fd);
  return status;
}

absl::StatusOr<bool> daemon_accepts(const std::string& socket_path) {
  // A listener whose backlog stays full is one.
  const absl::StatusOr<int> fd = connect_to_daemon(socket_path, Clock::now());
  if (fd.ok()) {
    ::close(*fd);
    return true;
  }
  if (absl::IsUnavailable(fd.status())) return true;
  if (absl::IsNotFound(fd.status())) return false;
  return fd.status();
}

std::string describe_unresponsive(const DaemonPeer& peer) {
  if (peer.pid <= 0) return "its process is in another container";
  std::ifstream file(str_cat("/proc/", peer.pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(") ");
  const char state = name_end == std::string::npos ? '?' : text[name_end + 2];
  const std::string process = str_cat("process ", peer.pid);
  if (state == 'T' || state == 't') return str_cat(process, " is stopped: continue it with kill -CONT ", peer.pid);
  if (state == 'Z' || state == 'X') return str_cat(process, " has died");
  return str_cat(process, " is busy or hangs; if it stays so, end it with kill -9 ", peer.pid,
                 ": the next request starts another");
}

}  // namespace hearth::client
