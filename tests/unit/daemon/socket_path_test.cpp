#include "proto/socket_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/support/skip.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth {
namespace {

using daemon::TestFolder;

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      old_ = old;
    }
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

TEST_CASE("socket path: flag, variable, runtime folder, temp folder") {
  Environment socket("HEARTH_SOCKET", "/a/b.sock");
  CHECK(*resolve_socket_path("/x/y.sock") == "/x/y.sock");
  CHECK(*resolve_socket_path("", SocketUser::kDaemon) == "/a/b.sock");
  Environment none("HEARTH_SOCKET", nullptr);
  Environment runtime("XDG_RUNTIME_DIR", "/run/me");
  CHECK(*resolve_socket_path("", SocketUser::kDaemon) == "/run/me/hearth/hearthd.sock");
  Environment no_runtime("XDG_RUNTIME_DIR", nullptr);
  const std::string user = std::to_string(::geteuid());
  if (!std::filesystem::exists("/run/user/" + user)) {
    Environment temp("TMPDIR", "/var/tmp//");
    CHECK(*resolve_socket_path("", SocketUser::kDaemon) == "/var/tmp/hearth-" + user + "/hearthd.sock");
  } else {
    CHECK(*resolve_socket_path("", SocketUser::kDaemon) == "/run/user/" + user + "/hearth/hearthd.sock");
  }
  CHECK(resolve_socket_path("relative.sock")->front() == '/');
}

TEST_CASE("socket path: too long is a clear error") {
  // The admin socket beside it has to fit, too.
  for (const std::string suffix : {"", ".sock"}) {
    const std::size_t most = kMaxSocketPathBytes - (suffix.empty() ? 6 : 1);
    const std::string longest = "/" + std::string(most - 1 - suffix.size(), 'x');
    CHECK(resolve_socket_path(longest + suffix).ok());
    CHECK(admin_socket_path(longest + suffix).size() == kMaxSocketPathBytes);
    const absl::Status status = resolve_socket_path(longest + "x" + suffix).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(std::string(status.message())
              .find(std::to_string(most + 1) + " bytes; at most " + std::to_string(most) + " are possible") !=
          std::string::npos);
  }
  CHECK(admin_socket_path("/run/hearth/hearthd.sock") == "/run/hearth/hearthd.admin");
  CHECK(admin_socket_path("/run/hearth/.sock") == "/run/hearth/.admin");
  CHECK_FALSE(check_socket_path("").ok());
  CHECK_FALSE(check_socket_path("/folder/").ok());
}

TEST_CASE("socket folder: a service's user is believed where root alone can have put it, and nowhere else") {
  if (::geteuid() != 0) SKIP_CASE("not root: cannot give a folder to another user");
  constexpr uid_t kService = 12345;
  const auto is_believed_in = [&](const std::string& parent, mode_t mode) {
    std::string made = parent + "/hearth-test-XXXXXX";
    REQUIRE(::mkdtemp(made.data()) != nullptr);
    REQUIRE(::chown(made.c_str(), kService, kService) == 0);
    REQUIRE(::chmod(made.c_str(), mode) == 0);
    const bool believed = is_trusted_daemon_user(made + "/s.sock", kService);
    CHECK(check_socket_folder(made + "/s.sock").ok() == believed);
    CHECK(is_trusted_daemon_user(made + "/s.sock", ::geteuid()));
    CHECK_FALSE(is_trusted_daemon_user(made + "/s.sock", kService + 1));
    ::rmdir(made.c_str());
    return believed;
  };
  CHECK(is_believed_in("/run", 0755));
  CHECK_FALSE(is_believed_in("/run", 0775));
  CHECK_FALSE(is_believed_in("/tmp", 0755));  // where anybody can make one
}

TEST_CASE("socket folder: made private, refused when others may write") {
  TestFolder folder;
  const std::string path = folder / "a/b/s.sock";
  CHECK(absl::IsNotFound(check_socket_folder(path)));
  REQUIRE(make_socket_folder(path).ok());
  struct stat info;
  REQUIRE(::stat((folder / "a/b").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  REQUIRE(::chmod((folder / "a/b").c_str(), 0777) == 0);
  CHECK(absl::IsPermissionDenied(check_socket_folder(path)));
  REQUIRE(::chmod((folder / "a/b").c_str(), 01777) == 0);  // sticky, like a temp folder
  CHECK(check_socket_folder(path).ok());
  std::ofstream(folder / "file") << "x";
  CHECK_FALSE(make_socket_folder(folder / "file/s.sock").ok());
  if (::geteuid() != 0) {
    test::skip_part("not root: cannot give a folder to another user");
  } else {
    REQUIRE(::chown((folder / "a/b").c_str(), 12345, 0) == 0);
    CHECK(absl::IsPermissionDenied(check_socket_folder(path)));
    // Another user's link to a folder of one's own: where it leads is that user's to change.
    REQUIRE(::mkdir((folder / "own").c_str(), 0700) == 0);
    REQUIRE(::symlink((folder / "own").c_str(), (folder / "link").c_str()) == 0);
    CHECK(check_socket_folder(folder / "link/s.sock").ok());
    REQUIRE(::lchown((folder / "link").c_str(), 12345, 0) == 0);
    const absl::Status linked = check_socket_folder(folder / "link/s.sock");
    CHECK(absl::IsPermissionDenied(linked));
    CHECK(std::string(linked.message()).find("is a link of user 12345") != std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
