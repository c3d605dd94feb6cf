#include "tests/fuzz/service/byte_pipe.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace hearth::fuzz {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("a socket's path is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int unix_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("no socket");
  return fd;
}

// Everything, or until the peer is gone.
void send_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

// Reads what there is into `said`; false at the end.
bool take(int fd, std::string* said) {
  char bytes[65536];
  const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
  if (got > 0) said->append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

void forward(int client, int server, Conversation* spoken) {
  pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  for (;;) {
    if (::poll(ends, 2, -1) < 0 && errno != EINTR) return;
    for (int i = 0; i < 2; ++i) {
      if (ends[i].revents == 0) continue;
      std::string said;
      if (!take(ends[i].fd, &said)) return;
      (i == 0 ? spoken->from_client : spoken->from_server) += said;
      send_all(ends[1 - i].fd, said);
    }
  }
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket Socket::listening(const std::string& path) {
  Socket made(unix_socket());
  const sockaddr_un address = address_of(path);
  ::unlink(path.c_str());
  if (::bind(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(made.fd(), 16) != 0)
    throw std::runtime_error("cannot listen on " + path);
  return made;
}

Socket Socket::connected(const std::string& path) {
  Socket made(unix_socket());
  const sockaddr_un address = address_of(path);
  if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect to " + path + ": " + std::strerror(errno));
  return made;
}

Conversation record(const std::string& socket, const std::string& folder,
                    const std::function<void(const std::string&)>& call) {
  const std::string path = folder + "/proxy.sock";
  const Socket listener = Socket::listening(path);
  Conversation spoken;
  std::thread proxy([&] {
    const Socket client(::accept(listener.fd(), nullptr, nullptr)), server = Socket::connected(socket);
    forward(client.fd(), server.fd(), &spoken);
  });
  call(path);
  proxy.join();
  return spoken;
}

ReplayServer::ReplayServer(const std::string& path, std::string bytes) : listener_(Socket::listening(path)) {
  thread_ = std::thread([this, bytes = std::move(bytes)] {
    const Socket client(::accept(listener_.fd(), nullptr, nullptr));
    if (client.fd() < 0) return;
    send_all(client.fd(), bytes);
    ::shutdown(client.fd(), SHUT_WR);
    for (std::string ignored; take(client.fd(), &ignored);) ignored.clear();
  });
}

ReplayServer::~ReplayServer() {
  ::shutdown(listener_.fd(), SHUT_RDWR);  // ends an accept that nobody came for
  thread_.join();
}

bool speak(const std::string& socket, const std::string& bytes, int timeout_ms) {
  const Socket server = Socket::connected(socket);
  send_all(server.fd(), bytes);
  ::shutdown(server.fd(), SHUT_WR);
  pollfd end = {server.fd(), POLLIN, 0};
  for (std::string ignored; ::poll(&end, 1, timeout_ms) > 0; ignored.clear()) {
    if (!take(server.fd(), &ignored)) return true;
  }
  return false;
}

}  // namespace hearth::fuzz
