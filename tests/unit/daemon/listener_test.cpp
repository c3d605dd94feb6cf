#include "daemon/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/support/skip.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kShort{50};

TEST_CASE("listener: private socket, one owner, stale sockets replaced") {
  TestFolder folder;
  const std::string path = folder / "run/s.sock";
  {
    auto listener = Listener::open(path, kShort);
    REQUIRE(listener.ok());
    struct stat info;
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(is_served(path));
    const absl::Status second = Listener::open(path, kShort).status();
    CHECK(absl::IsAlreadyExists(second));
    CHECK(std::string(second.message()).find("pid " + std::to_string(::getpid())) != std::string::npos);
  }
  CHECK(std::filesystem::exists(path));  // as after kill -9: nobody serves it
  CHECK_FALSE(is_served(path));
  CHECK(Listener::open(path, kShort).ok());
}

TEST_CASE("listener: one whose folder was removed leaves its successor's socket alone") {
  TestFolder folder;
  const std::string path = folder / "run/s.sock";
  auto first = Listener::open(path, kShort);
  REQUIRE(first.ok());
  CHECK((*first)->is_reachable());
  std::filesystem::remove_all(folder / "run");
  CHECK_FALSE((*first)->is_reachable());
  auto second = Listener::open(path, kShort);
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
  CHECK(absl::IsPermissionDenied(Listener::open(folder / "s.sock", kShort).status()));
  CHECK(std::filesystem::file_size(folder / "s.sock") == 8);
}

TEST_CASE("listener: a leaving daemon's successor waits for its lock") {
  TestFolder folder;
  const std::string path = folder / "s.sock";
  auto first = Listener::open(path, kShort);
  REQUIRE(first.ok());
  (*first)->stop();
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(absl::IsAlreadyExists(Listener::open(path, kShort).status()));
  std::thread leaving([&] {
    std::this_thread::sleep_for(kShort);
    first->reset();
  });
  CHECK(Listener::open(path, std::chrono::seconds(10)).ok());
  leaving.join();
}

TEST_CASE("listener: connections of this user are handed over until stopped") {
  TestFolder folder;
  auto listener = Listener::open(folder / "s.sock", kShort);
  REQUIRE(listener.ok());
  std::atomic<int> connections{0};
  std::thread acceptor([&] {
    (*listener)->accept_until_stopped([&](int fd) {
      ++connections;
      ::close(fd);
    });
  });
  for (int i = 0; i < 10; ++i) CHECK(is_served(folder / "s.sock"));
  while (connections < 10) std::this_thread::yield();
  (*listener)->stop();
  acceptor.join();
  CHECK_FALSE(is_served(folder / "s.sock"));
}

TEST_CASE("listener: another user's connection is closed even where permissions would allow it") {
  if (::geteuid() != 0) SKIP_CASE("not root: cannot become another user");
  TestFolder folder;
  auto listener = Listener::open(folder / "s.sock", kShort);
  REQUIRE(listener.ok());
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((folder / "s.sock").c_str(), 0666) == 0);
  std::atomic<int> connections{0};
  std::thread acceptor([&] {
    (*listener)->accept_until_stopped([&](int fd) {
      ++connections;
      ::close(fd);
    });
  });
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (folder / "s.sock").c_str());
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setuid(12345) != 0) ::_exit(1);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) ::_exit(2);
    ::_exit(::read(fd, &byte, 1) == 0 ? 0 : 3);
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
