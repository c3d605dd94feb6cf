// Sockets of every kind, shared memory, message queues.
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tests/fault/sandbox/attempts.h"

namespace hearth::sandbox_test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string connect_tcp(const Targets& t) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(t.number("tcp_port"));
  return told(fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
}

std::string send_udp(const Targets& t) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in address = loopback(t.number("udp_port"));
  return told(fd >= 0 && ::sendto(fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 1);
}

std::string listen_tcp(const Targets&) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(0);
  return told(fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
              ::listen(fd, 1) == 0);
}

std::string connect_unix(const std::string& name, bool abstract) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  return told(fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
}

std::string read_shared_memory(const Targets& t) {
  const void* memory = ::shmat(t.number("shared_memory"), nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) return told(false);
  return told(true, static_cast<const char*>(memory));
}

}  // namespace

const AttemptTable& attempts_on_network() {
  static const AttemptTable table = {
      {"connect by TCP", connect_tcp},
      {"send by UDP", send_udp},
      {"listen on TCP", listen_tcp},
      {"connect to the daemon's socket", [](const Targets& t) { return connect_unix(t["socket"], false); }},
      {"connect to an abstract socket", [](const Targets& t) { return connect_unix(t["abstract"], true); }},
      {"netlink", [](const Targets&) { return told(::socket(AF_NETLINK, SOCK_RAW, 0) >= 0); }},
      {"shared memory of others", read_shared_memory},
      {"message queue of others",
       [](const Targets& t) { return told(::mq_open(t["queue"].c_str(), O_WRONLY) != static_cast<mqd_t>(-1)); }},
  };
  return table;
}

}  // namespace hearth::sandbox_test
