// A daemon as its owner sees it: started by whoever comes first, looked at, stopped, and read about afterwards.
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "tests/integration/place.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"

using namespace hearth::integration;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> run_digits() {
  return {"hearth", "run", source_dir() / "examples" / "digits" / "digits.onnx", "--json", "--threads", "1"};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a stopped daemon is told from one that runs, at once, with what to do") {
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  const pid_t daemon = place.daemons().at(0);
  REQUIRE(::kill(daemon, SIGSTOP) == 0);
  const Ran status = place.run({"hearth", "daemon", "status"});
  const Ran json = place.run({"hearth", "daemon", "status", "--json"});
  const Ran stats = place.run({"hearth", "stats"});
  ::kill(daemon, SIGCONT);
  CHECK(status.code == 4);
  CHECK(contains(status.out, "kill -CONT " + std::to_string(daemon)));
  CHECK(json.code == 4);
  CHECK(nlohmann::json::parse(json.out)["state"] == "not answering");
  CHECK(stats.code == 1);
  CHECK(contains(stats.err, "is stopped"));
  CHECK(place.run({"hearth", "daemon", "status"}).code == 0);
}

TEST_CASE("a container with the clients' folder mounted reaches the daemon that follows the one it knew") {
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  if (place.run({"/usr/bin/unshare", "-m", "/bin/true"}).code != 0) SKIP_CASE("mount namespaces need a privilege here");
  const std::string folder = place.file("hearthd.clients"), mounted = place.file("mounted");
  fs::create_directory(mounted);
  fs::permissions(mounted, fs::perms::owner_all);
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    entries += entry.path().filename() == "hearthd.sock" ? 1 : 100;
  CHECK(entries == 1);  // and nothing else
  const std::string hearth = (bin_dir() / "hearth").string();
  const std::string inside = "HEARTH_NO_AUTOSTART=1 HEARTH_SOCKET=" + mounted + "/hearthd.sock " + hearth;
  const std::string stats = inside + " stats --json";
  const Ran ran = place.run({"/usr/bin/unshare", "-m", "/bin/sh", "-ec",
                             "mount --bind " + folder + " " + mounted + "\n" + stats + "; echo ,; " + hearth +
                                 " daemon restart >&2; " + stats + "\n" + inside + " daemon stop >&2 && exit 9; true"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto both = nlohmann::json::parse("[" + ran.out + "]");
  CHECK(both[0]["pid"] != both[1]["pid"]);
  CHECK(place.daemons().size() == 1);  // what is mounted cannot stop it
}

TEST_CASE("with HEARTH_NO_AUTOSTART no command starts a daemon") {
  Place place;
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  const std::string model = (source_dir() / "examples/digits/digits.onnx").string();
  const std::vector<std::vector<std::string>> commands = {
      {"cache", "ls"}, {"cache", "verify"}, {"cache", "clear"}, {"explain", model},
      {"tune", model}, {"run", model},      {"prewarm", model}, {"export", model, "-o", place.file("m.hearth")}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), "hearth");
    const Ran ran = place.run(words);
    CAPTURE(words[1], ran.err);
    CHECK(ran.code == 1);
    CHECK(contains(ran.err, "hearth daemon start"));
    CHECK(place.daemons().empty());
  }
}

TEST_CASE("another user's client is told whose the daemon is, and who asks") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  const fs::path socket = place.socket();
  for (fs::path folder = socket.parent_path(); folder != "/"; folder = folder.parent_path())
    if (fs::status(folder).permissions() == fs::perms::owner_all) fs::permissions(folder, fs::perms(0755));
  const std::string hearth = place.file("hearth");  // the build folder may be closed to others
  fs::copy_file(bin_dir() / "hearth", hearth);
  const auto ask = [&] {
    return place.run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", hearth, "stats"});
  };
  for (const int mode : {0600, 0666}) {
    fs::permissions(socket, static_cast<fs::perms>(mode));
    const Ran ran = ask();
    CAPTURE(mode, ran.err);
    CHECK(ran.code == 1);
    CHECK(contains(ran.err, "user 0"));
    CHECK(contains(ran.err, "you are user 65534"));
  }
}

TEST_CASE("a daemon that ends just as `daemon start` finds it is followed by another") {
  Place place;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, place.socket().c_str());
  const int dying = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(dying, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(dying, 8) == 0);
  std::thread dies([&] {
    const int found = ::accept(dying, nullptr, nullptr);
    ::close(dying);
    ::close(found);
  });
  const Ran started = place.run({"hearth", "daemon", "start"});
  ::shutdown(dying, SHUT_RDWR);
  dies.join();
  INFO(started.err);
  CHECK(started.code == 0);
  CHECK(contains(started.out, "started"));
  CHECK(place.daemons().size() == 1);
}

TEST_CASE("another user's daemon is said to be another user's") {
  if (::geteuid() != 0) SKIP_CASE("not root: cannot be another user");
  Place place;
  // A folder as /tmp is: anybody may put a socket there.
  const std::string folder = place.file("shared");
  fs::create_directory(folder);
  REQUIRE(::chmod(folder.c_str(), 01777) == 0);
  REQUIRE(::chmod(fs::path(folder).parent_path().c_str(), 0755) == 0);
  const std::string path = folder + "/s.sock";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  // The file is root's, the process that listens is not: only the kernel knows.
  for (const bool file_of_root : {false, true}) {
    const pid_t other = ::fork();
    if (other == 0) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strcpy(address.sun_path, path.c_str());
      ::unlink(path.c_str());
      const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
      const auto become_other = [] { return ::setgroups(0, nullptr) == 0 && ::setuid(12345) == 0; };
      bool ok = file_of_root || become_other();
      ok = ok && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      ok = ok && (!file_of_root || become_other()) && ::listen(fd, 8) == 0;
      if (::write(ready[1], ok ? "y" : "n", 1) == 1) ::pause();
      ::_exit(0);
    }
    char word = 0;
    REQUIRE(::read(ready[0], &word, 1) == 1);
    REQUIRE(word == 'y');
    INFO("the socket's file is root's: " << file_of_root);
    place.environment()["HEARTH_SOCKET"] = path;
    for (const auto& words :
         {std::vector<std::string>{"hearth", "daemon", "status"}, {"hearth", "stats"}, run_digits()}) {
      const Ran ran = place.run(words);
      CHECK(ran.code == 1);
      CHECK(contains(ran.err, "user 12345"));
    }
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    ::unlink(path.c_str());
  }
  for (int fd : ready) ::close(fd);
  place.environment()["HEARTH_SOCKET"] = place.socket();
}

TEST_CASE("who starts the daemon first does not shape it") {
  Place place;
  place.environment()["LD_LIBRARY_PATH"] = "/nowhere";
  place.environment()["TMPDIR"] = place.file("job");  // of a batch system: gone when the job ends
  place.environment()["PYTHONPATH"] = "/nowhere";
  place.environment()["HEARTH_QUEUE_LIMIT"] = "17";  // a setting is meant for the daemon
  fs::create_directory(place.file("job"));
  const pid_t starter = ::fork();
  if (starter == 0) {
    ::umask(0);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1u << 30;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::getrlimit(RLIMIT_CPU, &limit);
    limit.rlim_cur = 5000;
    ::setrlimit(RLIMIT_CPU, &limit);
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    sched_param normal{};
    ::sched_setscheduler(0, SCHED_BATCH, &normal);
    std::vector<std::string> variables;
    for (const auto& [name, value] : place.environment()) variables.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& text : variables) environment.push_back(text.data());
    environment.push_back(nullptr);
    const std::string program = (bin_dir() / "hearth").string();
    const char* arguments[] = {program.c_str(), "daemon", "start", nullptr};
    ::execve(program.c_str(), const_cast<char**>(arguments), environment.data());
    ::_exit(127);
  }
  int status = 0;
  REQUIRE(::waitpid(starter, &status, 0) == starter);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  const pid_t daemon = place.daemons().at(0);
  const std::string proc = "/proc/" + std::to_string(daemon) + "/";
  const std::string environment = content(proc + "environ");
  for (const char* name : {"LD_LIBRARY_PATH=", "TMPDIR=", "PYTHONPATH="}) {
    INFO(name);
    CHECK_FALSE(contains('\0' + environment, '\0' + std::string(name)));
  }
  CHECK(contains(environment, "HEARTH_QUEUE_LIMIT=17"));
  const std::string limits = content(proc + "limits"), state = content(proc + "status");
  CHECK_FALSE(std::regex_search(limits, std::regex("Max file size +1073741824")));
  CHECK_FALSE(std::regex_search(limits, std::regex("Max cpu time +5000")));
  CHECK(contains(state, "Umask:\t0077"));
  CHECK(::sched_getscheduler(daemon) == SCHED_OTHER);
  cpu_set_t mine, its;
  REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
  REQUIRE(::sched_getaffinity(daemon, sizeof its, &its) == 0);
  CHECK(CPU_COUNT(&its) == CPU_COUNT(&mine));
  ::kill(daemon, SIGTERM);  // not ignored
  CHECK(hearth::test::eventually([&] { return !alive(daemon); }));
}

TEST_CASE("the log tells of daemons that are gone, in UTC, and every report says where it is") {
  Place place;
  const std::string path = place.socket() + ".log";
  place.environment()["HEARTH_LOG_LEVEL"] = "debug";
  place.run_ok(run_digits());
  const pid_t first = place.daemons().at(0);
  CHECK(place.json({"hearth", "daemon", "status", "--json"})["log_file"] == path);
  CHECK(contains(place.run({"hearth", "daemon", "status"}).out, path));
  ::kill(first, SIGKILL);
  REQUIRE(hearth::test::eventually([&] { return !alive(first); }));
  place.run_ok(run_digits());
  const pid_t second = place.daemons().at(0);
  const std::string log = content(path);
  for (const pid_t pid : {first, second}) {
    CHECK(contains(log, "Z [" + std::to_string(pid) + "] info hearthd "));
    CHECK(std::regex_search(log, std::regex("Z \\[" + std::to_string(pid) +
                                            "\\] (info|debug) call [0-9]+ of user [0-9]+, process [0-9]+: "
                                            "prepare [0-9a-f]{12}[^:]*: (miss|hit)")));
  }
  CHECK(std::regex_search(log, std::regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z ")));
  // One that cannot start says why, where it says so, and nothing of its predecessors.
  place.stop_daemon();
  place.environment()["HEARTH_WORKERS"] = "many";
  const Ran failed = place.run(run_digits());
  CHECK(failed.code == 1);
  CHECK(contains(failed.err, "HEARTH_WORKERS 'many'"));
  CHECK(contains(failed.err, path));
  CHECK_FALSE(contains(failed.err, "prepare "));
}

TEST_CASE("a log or a lock that is no file of this user's alone is refused by name, and not written to") {
  if (::geteuid() != 0) SKIP_CASE("only root can make another user's files");
  constexpr uid_t kNobody = 65534;
  for (const std::string suffix : {".log", ".start", ".lock"}) {
    Place place;
    INFO(suffix);
    const std::string planted = place.socket() + suffix;
    std::ofstream(planted) << "planted";
    REQUIRE(::chown(planted.c_str(), kNobody, kNobody) == 0);
    REQUIRE(::chmod(planted.c_str(), 0666) == 0);
    const Ran refused = place.run(run_digits());
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, planted));
    CHECK(contains(refused.err, "HEARTH_SOCKET"));
    CHECK(content(planted) == "planted");
    CHECK(place.daemons().empty());
  }
  Place place;  // a log with a second name: what is written to it would be written to the other file
  std::ofstream(place.file("other")) << "precious";
  fs::create_hard_link(place.file("other"), place.socket() + ".log");
  CHECK(contains(place.run(run_digits()).err, "2 names"));
  CHECK(content(place.file("other")) == "precious");
}

TEST_CASE("the daemon's error output follows its log when that is rotated") {
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  const std::string fd = "/proc/" + std::to_string(place.daemons().at(0)) + "/fd/2";
  CHECK(fs::read_symlink(fd) == fs::canonical(place.socket() + ".log"));
  place.stop_daemon();
  std::ofstream(place.socket() + ".log") << std::string((8 << 20) - 100, 'x');  // the next lines are one too many
  place.run_ok({"hearth", "daemon", "start"});
  place.run_ok(run_digits());
  CHECK(fs::exists(place.socket() + ".1.log"));
  const std::string now = "/proc/" + std::to_string(place.daemons().at(0)) + "/fd/2";
  CHECK(fs::read_symlink(now) == fs::canonical(place.socket() + ".log"));
}

TEST_CASE("stop waits for the daemon's end, restart starts another, and no file is left but the log") {
  Place place;
  place.run_ok({"hearth", "daemon", "start"});
  const pid_t first = place.daemons().at(0);
  CHECK(contains(place.run_ok({"hearth", "daemon", "restart"}).out, "started"));
  CHECK_FALSE(alive(first));
  const pid_t second = place.daemons().at(0);
  place.run_ok({"hearth", "daemon", "stop"});
  CHECK_FALSE(alive(second));
  for (const auto& entry : fs::directory_iterator(place.file(""))) {
    const std::string name = entry.path().filename();
    if (name == "hearthd.clients") {  // stays the same folder for those who mounted it
      CHECK(fs::is_empty(entry.path()));
    } else if (name.starts_with("hearthd")) {
      CHECK(name == "hearthd.sock.log");
    }
  }
  CHECK(place.run({"hearth", "daemon", "status"}).code == 3);
}

TEST_CASE("a daemon that cannot start leaves no socket for clients to fail at") {
  Place place, other;
  place.run_ok({"hearth", "daemon", "start"});
  other.environment()["HEARTH_CACHE_DIR"] = place.cache();  // in use
  const Ran ran = other.run({"hearth", "daemon", "start"});
  CHECK(ran.code == 1);
  CHECK(contains(ran.err, "in use by process " + std::to_string(place.daemons().at(0))));
  for (const auto& entry : fs::recursive_directory_iterator(other.file(""))) {
    INFO(entry.path());
    CHECK_FALSE(entry.is_socket());
  }
}
