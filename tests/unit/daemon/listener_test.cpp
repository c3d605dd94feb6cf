#include "daemon/sockets/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/unique_fd.h"
#include "tests/support/skip.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kShort{50};

TEST_CASE("listener: private socket, one owner, stale sockets replaced") {
  TestFolder folder;
  const std::string path = folder / "run/s.sock";
  {
    auto listener = Listener::open(path, kShort, {});
    REQUIRE(listener.ok());
    struct stat info;
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(is_served(path));
    const absl::Status second = Listener::open(path, kShort, {}).status();
    CHECK(absl::IsAlreadyExists(second));
    CHECK(std::string(second.message()).find("pid " + std::to_string(::getpid())) != std::string::npos);
  }
  CHECK(std::filesystem::exists(path));  // as after kill -9: nobody serves it
  CHECK_FALSE(is_served(path));
  CHECK(Listener::open(path, kShort, {}).ok());
}

TEST_CASE("listener: one whose folder was removed leaves its successor's socket alone") {
  TestFolder folder;
  const std::string path = folder / "run/s.sock";
  auto first = Listener::open(path, kShort, {});
  REQUIRE(first.ok());
  CHECK((*first)->is_reachable());
  std::filesystem::remove_all(folder / "run");
  CHECK_FALSE((*first)->is_reachable());
  auto second = Listener::open(path, kShort, {});
  REQUIRE(second.ok());
  CHECK_FALSE((*first)->is_reachable());
  (*first)->stop();
  CHECK(is_served(path));
  CHECK((*second)->is_reachable());
  (*second)->stop();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("listener: what is no socket is not removed") {
  TestFolder folder;
  std::ofstream(folder / "s.sock") << "precious";
  CHECK(absl::IsPermissionDenied(Listener::open(folder / "s.sock", kShort, {}).status()));
  CHECK(std::filesystem::file_size(folder / "s.sock") == 8);
}

TEST_CASE("listener: a draining daemon's successor serves at once, and no file is left") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  auto first = Listener::open(path, kShort, {});
  REQUIRE(first.ok());
  (*first)->stop();
  auto second = Listener::open(path, std::chrono::milliseconds(0), {});
  REQUIRE(second.ok());
  CHECK(is_served(path));
  first->reset();  // the drain ends: the successor's files stay
  CHECK(is_served(path));
  CHECK(absl::IsAlreadyExists(Listener::open(path, kShort, {}).status()));
  (*second)->stop();
  second->reset();
  // But the folder that containers mount, which has to stay the same one.
  std::filesystem::remove(folder / "s.clients");  // empty, or this fails
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("listener: a starting daemon is waited for") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  auto starting = lock_socket(path, kShort);  // it has the lock and does not serve yet
  REQUIRE(starting.ok());
  CHECK(absl::IsAlreadyExists(Listener::open(path, kShort, {}).status()));
  std::thread gives_up([&] { starting->release(); });  // before or after the next one looks: it is waited for
  CHECK(Listener::open(path, std::chrono::minutes(5), {}).ok());
  gives_up.join();
}

TEST_CASE("listener: a removed lock file does not let two daemons take one path") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  auto first = Listener::open(path, kShort, {});
  REQUIRE(first.ok());
  REQUIRE(std::filesystem::remove(path + ".lock"));
  CHECK(absl::IsAlreadyExists(Listener::open(path, kShort, {}).status()));
  CHECK((*first)->is_reachable());
}

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return fd;
}

// True when the other end has closed the connection.
bool is_closed(int fd) {
  char byte;
  return ::read(fd, &byte, 1) <= 0;
}

TEST_CASE("listener: clients and the owner come by sockets of their own") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  auto listener = Listener::open(path, kShort, {});
  REQUIRE(listener.ok());
  struct stat info;
  REQUIRE(::stat((folder / "s.admin").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  std::atomic<int> clients{0}, owners{0}, pid{0};
  std::thread acceptor([&] {
    (*listener)->accept_until_stopped(
        [&](int fd, const Peer& peer) {
          ++clients;
          pid = peer.pid;
          ::close(fd);
        },
        [&](int fd, const Peer&) {
          ++owners;
          ::shutdown(fd, SHUT_RDWR);
          ::close(fd);
        });
  });
  const int client = connect_to(path), owner = connect_to(folder / "s.admin");
  CHECK(is_closed(owner));
  while (clients < 1) std::this_thread::yield();
  CHECK((clients == 1 && owners == 1 && pid == ::getpid()));
  (*listener)->stop();
  acceptor.join();
  CHECK_FALSE(std::filesystem::exists(folder / "s.admin"));
  for (int fd : {client, owner}) ::close(fd);
}

TEST_CASE("listener: a client that opens too many connections is refused more, and none is lost count of") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  ConnectionLimits limits;
  SECTION("one process") { limits.per_process = 3; }
  SECTION("all together") { limits.total = 3; }
  auto listener = Listener::open(path, kShort, limits);
  REQUIRE(listener.ok());
  std::vector<int> served;
  std::atomic<int> num_served{0};
  std::thread acceptor([&] {
    const auto keep = [&](int fd, const Peer&) {
      served.push_back(fd);
      ++num_served;
    };
    (*listener)->accept_until_stopped(keep, keep);
  });
  std::vector<int> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connect_to(path));
  while (num_served < 3) std::this_thread::yield();
  CHECK((*listener)->num_connections() == 3);
  for (int i = 0; i < 5; ++i) {
    const int refused = connect_to(path);
    CHECK(is_closed(refused));
    ::close(refused);
  }
  // One that ends makes room, whichever side ends it.
  ::close(clients[0]);
  while ((*listener)->num_connections() > 2) std::this_thread::yield();
  clients[0] = connect_to(path);
  while (num_served < 4) std::this_thread::yield();
  ::shutdown(served[1], SHUT_RDWR);
  while ((*listener)->num_connections() > 2) std::this_thread::yield();
  (*listener)->stop();
  acceptor.join();
  CHECK(num_served == 4);
  for (int fd : clients) ::close(fd);
  for (int fd : served) ::close(fd);
}

TEST_CASE("listener: who waits to be accepted when it stops is refused and does not hang") {
  TestFolder folder;
  auto listener = Listener::open(folder / "s.sock", kShort, {});
  REQUIRE(listener.ok());
  const int waiting = connect_to(folder / "s.sock");
  (*listener)->stop();
  const auto drop = [](int fd, const Peer&) { ::close(fd); };
  (*listener)->accept_until_stopped(drop, drop);
  CHECK(is_closed(waiting));
  ::close(waiting);
}

TEST_CASE("listener: connections of this user are handed over until stopped") {
  TestFolder folder;
  auto listener = Listener::open(folder / "s.sock", kShort, {});
  REQUIRE(listener.ok());
  std::atomic<int> connections{0};
  std::thread acceptor([&] {
    const auto count = [&](int fd, const Peer&) {
      ++connections;
      ::close(fd);
    };
    (*listener)->accept_until_stopped(count, count);
  });
  for (int i = 0; i < 10; ++i) CHECK(is_served(folder / "s.sock"));
  while (connections < 10) std::this_thread::yield();
  (*listener)->stop();
  acceptor.join();
  CHECK_FALSE(is_served(folder / "s.sock"));
}

TEST_CASE("listener: another user is told why its connection is closed, even where permissions would allow it") {
  if (::geteuid() != 0) SKIP_CASE("not root: cannot become another user");
  TestFolder folder;
  auto listener = Listener::open(folder / "s.sock", kShort, {});
  REQUIRE(listener.ok());
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((folder / "s.sock").c_str(), 0666) == 0);
  std::atomic<int> connections{0};
  std::thread acceptor([&] {
    const auto count = [&](int fd, const Peer&) {
      ++connections;
      ::close(fd);
    };
    (*listener)->accept_until_stopped(count, count);
  });
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (folder / "s.sock").c_str());
  const pid_t child = ::fork();
  if (child == 0) {
    char said[512];
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setuid(12345) != 0) ::_exit(1);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) ::_exit(2);
    const ssize_t size = ::recv(fd, said, sizeof(said), MSG_WAITALL);  // to the end
    const std::string wanted = "hearth: this daemon serves user 0 alone, you are user 12345:";
    ::_exit(size > 0 && std::string(said, static_cast<std::size_t>(size)).rfind(wanted, 0) == 0 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(connections == 0);
  (*listener)->stop();
  acceptor.join();
}

}  // namespace
}  // namespace hearth::daemon
