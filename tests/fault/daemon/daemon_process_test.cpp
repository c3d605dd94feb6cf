#include "tests/fault/daemon/daemon_process.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "daemon/sockets/listener.h"
#include "daemon/worker_pool/worker_usage.h"
#include "tests/support/sanitizer.h"

namespace hearth::daemon {
namespace {

using test::kSanitizer;

TEST_CASE("hearthd: serves soon, small, private; SIGTERM drains and leaves nothing") {
  Place place;
  const auto begin = std::chrono::steady_clock::now();
  Process daemon(place.folder, place.arguments());
  REQUIRE(daemon.ready());
  const auto took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  CHECK(is_served(place.socket));
  struct stat info;
  REQUIRE(::stat(place.socket.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat((place.folder / "run").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  const std::vector<pid_t> workers = wait_for_worker(daemon.pid());
  REQUIRE(workers.size() == 1);  // one ahead of need, not all
  const double rss_mib = static_cast<double>(resident_bytes(daemon.pid())) / (1 << 20);
  WARN("hearthd: serving after " << took_ms << " ms, " << rss_mib << " MiB resident");
  if (!kSanitizer) CHECK(rss_mib < 100);
  daemon.send(SIGTERM);
  CHECK(daemon.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(place.socket));
  CHECK(gone(workers[0]));
}

TEST_CASE("hearthd: after kill -9 its workers die and a new daemon takes the socket over") {
  Place place;
  Process first(place.folder, place.arguments());
  REQUIRE(first.ready());
  const std::vector<pid_t> workers = wait_for_worker(first.pid());
  REQUIRE_FALSE(workers.empty());
  first.send(SIGKILL);
  CHECK(first.wait() == -SIGKILL);
  CHECK(gone(workers[0]));
  CHECK(std::filesystem::exists(place.socket));
  Process second(place.folder, place.arguments());
  CHECK(second.ready());
  CHECK(is_served(place.socket));
}

TEST_CASE("hearthd: a second daemon on a socket or a cache folder refuses clearly") {
  Place place;
  Process first(place.folder, place.arguments());
  REQUIRE(first.ready());
  Process second(place.folder, place.arguments());
  CHECK(second.wait() == 3);
  CHECK(second.log().find("(pid " + std::to_string(first.pid()) + ") already serves '" + place.socket) !=
        std::string::npos);
  Process other_socket(place.folder,
                       {"--socket", place.folder / "run/other.sock", "--cache-dir", place.folder / "cache"});
  CHECK(other_socket.wait() == 1);
  CHECK(other_socket.log().find(std::to_string(first.pid())) != std::string::npos);
  CHECK(is_served(place.socket));
}

TEST_CASE("hearthd: of many started at once exactly one serves") {
  Place place;
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < 12; ++i) all.push_back(std::make_unique<Process>(place.folder, place.arguments()));
  int serving = 0, refused = 0;
  for (auto& process : all) {
    const bool serves = process->ready();
    serving += serves ? 1 : 0;
    if (!serves) refused += process->wait() == 3 ? 1 : 0;
  }
  CHECK(serving == 1);
  CHECK(refused == 11);
}

TEST_CASE("hearthd: leaves when idle, and a successor may start while it leaves") {
  Place place;
  Process daemon(place.folder, place.arguments({"--idle-exit", "0.3"}));
  REQUIRE(daemon.ready());
  CHECK(daemon.wait() == 0);
  CHECK(daemon.log().find("leaving: idle") != std::string::npos);
  for (int i = 0; i < 5; ++i) {
    Process leaving(place.folder, place.arguments());
    REQUIRE(leaving.ready());
    leaving.send(SIGTERM);
    Process successor(place.folder, place.arguments());
    CHECK((successor.ready() || successor.wait() == 3));
    CHECK(leaving.wait() == 0);
  }
}

TEST_CASE("hearthd: bad settings are one line and a non-zero exit") {
  Place place;
  const std::string file = place.folder / "hearth.toml";
  std::ofstream(file) << "workers = 2\nthis is = = not toml\n";
  struct Case {
    std::vector<std::string> arguments;
    int code;
    std::string says;
  };
  std::ofstream(place.folder / "file") << "x";
  const std::vector<Case> cases = {
      {place.arguments({"--config", file}), 2, file + ":2: "},
      {{"--socket", "/" + std::string(150, 'x'), "--cache-dir", place.folder / "c"}, 2, "at most 101 are possible"},
      {{"--socket", place.folder / "file/s.sock", "--cache-dir", place.folder / "c"}, 1, "is not a folder"},
      {{"--socket", place.folder / "file", "--cache-dir", place.folder / "c"}, 1, "is no socket"},
      {{"--socket", place.socket, "--cache-dir", place.folder / "file"}, 1, place.folder / "file"},
      {{"--socket", place.socket, "--cache-dir", "/proc/none/cache"}, 1, "/proc/none"},
      {place.arguments({"--log", "/proc/nowhere/log"}), 2, "log file"},
      {place.arguments({"--workers", "-3"}), 2, "--workers"},
  };
  for (const Case& one : cases) {
    Process daemon(place.folder, one.arguments);
    CHECK_FALSE(daemon.ready());
    const int code = daemon.wait();
    const std::string log = daemon.log();
    INFO(log);
    CHECK(code == one.code);
    CHECK(log.find(one.says) != std::string::npos);
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace hearth::daemon
