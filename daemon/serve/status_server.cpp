#include "daemon/serve/status_server.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "daemon/sockets/unix_socket.h"

namespace hearth::daemon {
namespace {

constexpr unsigned kMaxConnections = 512;
constexpr std::size_t kMaxOpen = 448;  // beyond, the oldest is closed: who holds connections shuts nobody out
constexpr unsigned kTimeoutS = 2;
constexpr std::size_t kRequestBytes = 4096;

MHD_Result respond(MHD_Connection* connection, unsigned code, const char* type, const std::string& text) {
  MHD_Response* const response =
      MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  const MHD_Result queued = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result answer(void* context, MHD_Connection* connection, const char* url, const char* method, const char*,
                  const char*, std::size_t* upload_bytes, void**) {
  const StatusServer::Pages& pages = static_cast<const StatusServer*>(context)->pages();
  constexpr char kText[] = "text/plain; charset=utf-8";
  if (*upload_bytes != 0) return MHD_NO;
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 && std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, kText, "only GET\n");
  const std::string path = url;
  if (path == "/metrics")
    return respond(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", pages.metrics());
  if (path == "/live") return respond(connection, MHD_HTTP_OK, kText, "live\n");
  if (path == "/ready") {
    const std::string health = pages.health();
    return respond(connection, health == "ready" ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, kText, health + "\n");
  }
  return respond(connection, MHD_HTTP_NOT_FOUND, kText, "/metrics, /live or /ready\n");
}

void note_connection(void* context, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
  StatusServer::Connections& open = static_cast<StatusServer*>(context)->connections();
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    std::erase(open, connection);
    return;
  }
  open.push_back(connection);
  if (open.size() <= kMaxOpen) return;
  // It is told as closed when the server sees that; until then it is no longer the oldest.
  MHD_Connection* const oldest = open.front();
  open.pop_front();
  if (const MHD_ConnectionInfo* info = MHD_get_connection_info(oldest, MHD_CONNECTION_INFO_CONNECTION_FD))
    ::shutdown(info->connect_fd, SHUT_RDWR);
}

absl::Status not_heard(const std::string& address) {
  return absl::UnavailableError(absl::StrCat("cannot listen on '", address, "': ", std::strerror(errno)));
}

// A numeric address, in brackets where it is one of version 6; whether it is this machine's loopback.
bool parse_host(std::string host, std::uint16_t port, sockaddr_storage* storage, socklen_t* size, bool* is_loopback) {
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    *size = sizeof(*v6);
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr) != 1) return false;
    *is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return true;
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(storage);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(port);
  *size = sizeof(*v4);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) != 1) return false;
  *is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  return true;
}

// Reached from this machine alone, unless somebody has said otherwise: what it says names users.
absl::StatusOr<UniqueFd> listen_on_port(const std::string& address, bool is_public) {
  const std::size_t colon = address.rfind(':');
  std::uint32_t port = 0;
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool is_loopback = false;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535 ||
      !parse_host(address.substr(0, colon), static_cast<std::uint16_t>(port), &storage, &size, &is_loopback))
    return absl::InvalidArgumentError(absl::StrCat(
        "'", address, "': expected 127.0.0.1:PORT, [::1]:PORT, another numeric address or an absolute path"));
  if (!is_loopback && !is_public) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", address.substr(0, colon),
        "' is not this machine's loopback (127.0.0.1 or [::1]), and what is served names users: put a proxy "
        "in front, or set metrics_public where whoever reaches the address may see it"));
  }
  UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return not_heard(address);
  return fd;
}

// `wanted` with the port that the socket has.
std::string address_of(int fd, const std::string& wanted) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (wanted.front() == '/' || ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return wanted;
  const std::uint16_t port = storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(&storage)->sin_port
                                                          : reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port;
  return absl::StrCat(wanted.substr(0, wanted.rfind(':') + 1), ntohs(port));
}

absl::StatusOr<UniqueFd> listen_at(const std::string& address, bool is_public) {
  if (address.empty() || address.front() != '/') return listen_on_port(address, is_public);
  HEARTH_ASSIGN_OR_RETURN(UnixSocket socket, UnixSocket::open(address));
  UniqueFd fd(::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0));
  return fd ? absl::StatusOr<UniqueFd>(std::move(fd)) : not_heard(address);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::start(const std::string& address, bool is_public,
                                                                  Pages pages) {
  HEARTH_ASSIGN_OR_RETURN(UniqueFd listening, listen_at(address, is_public));
  std::unique_ptr<StatusServer> server(
      new StatusServer(std::move(pages), !address.empty() && address.front() == '/' ? address : std::string()));
  server->http_ =
      MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL, 0, nullptr, nullptr, &answer, server.get(),
                       MHD_OPTION_LISTEN_SOCKET, static_cast<MHD_socket>(listening.get()), MHD_OPTION_CONNECTION_LIMIT,
                       kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT, kTimeoutS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                       kRequestBytes, MHD_OPTION_NOTIFY_CONNECTION, &note_connection, server.get(), MHD_OPTION_END);
  if (server->http_ == nullptr)
    return absl::UnavailableError(absl::StrCat("'", address, "': no HTTP server can be made"));
  server->address_ = address_of(listening.get(), address);
  listening.release();  // the server's now
  return server;
}

StatusServer::~StatusServer() {
  if (http_ != nullptr) MHD_stop_daemon(http_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace hearth::daemon
