#include "daemon/config.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

absl::StatusOr<Config> load(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "hearthd");
  return load_config(static_cast<int>(arguments.size()), arguments.data());
}

std::string failure(std::vector<const char*> arguments) {
  const absl::StatusOr<Config> config = load(std::move(arguments));
  REQUIRE_FALSE(config.ok());
  const std::string message(config.status().message());
  CHECK(message.find('\n') == std::string::npos);  // one line
  return message;
}

TEST_CASE("config: file, then environment, then flags") {
  TestFolder folder;
  const std::string file = folder / "hearth.toml";
  std::ofstream(file) << "socket = \"/s/file.sock\"\ncache_limit = \"1MiB\"\nworkers = 3\nidle_exit_s = 1.5\n"
                         "allow_network_fs = true\ncache_dir = \"/c/file\"\n";
  const auto config = load({"--config", file.c_str()});
  REQUIRE(config.ok());
  CHECK(config->socket == "/s/file.sock");
  CHECK(config->cache_limit_bytes == 1u << 20);
  CHECK((config->workers == 3 && config->idle_exit_ms == 1500 && config->allow_network_fs));
  ::setenv("HEARTH_WORKERS", "5", 1);
  ::setenv("HEARTH_CACHE_DIR", "/c/environment", 1);
  const auto with_environment = load({"--config", file.c_str()});
  const auto with_flags = load({"--config", file.c_str(), "--workers", "7", "--idle-exit=2"});
  ::unsetenv("HEARTH_WORKERS");
  ::unsetenv("HEARTH_CACHE_DIR");
  REQUIRE((with_environment.ok() && with_flags.ok()));
  CHECK((with_environment->workers == 5 && with_environment->cache_dir == "/c/environment"));
  CHECK((with_flags->workers == 7 && with_flags->cache_dir == "/c/environment" && with_flags->idle_exit_ms == 2000));
}

TEST_CASE("config: defaults are resolved") {
  const auto config = load({"--socket", "/s/x.sock"});
  REQUIRE(config.ok());
  CHECK(config->workers >= 1);
  CHECK(config->worker == program("hearth-worker"));
  CHECK(config->cache_dir.front() == '/');
  CHECK(load({"--version"})->message.find("hearthd ") == 0);
  CHECK(load({"--help"})->message.find("--cache-dir") != std::string::npos);
}

TEST_CASE("config: the sandbox is required, best-effort or off, and reads what it is told") {
  TestFolder folder;
  const std::string file = folder / "hearth.toml";
  std::ofstream(file) << "sandbox = \"required\"\nsandbox_read = \"/opt/a:/opt/b\"\n";
  const auto none = load({"--socket", "/s/x.sock"});
  const auto from_file = load({"--config", file.c_str(), "--socket", "/s/x.sock"});
  const auto with_flag = load({"--config", file.c_str(), "--socket", "/s/x.sock", "--sandbox", "off"});
  REQUIRE((none.ok() && from_file.ok() && with_flag.ok()));
  CHECK(none->sandbox == SandboxSetting::kBestEffort);
  CHECK(from_file->sandbox == SandboxSetting::kRequired);
  CHECK(from_file->sandbox_read == std::vector<std::string>{"/opt/a", "/opt/b"});
  CHECK(with_flag->sandbox == SandboxSetting::kOff);
  CHECK(failure({"--sandbox", "maybe"}) == "--sandbox 'maybe': expected required, best-effort or off");
  CHECK(failure({"--sandbox-read", "here"}) == "--sandbox-read 'here': 'here' is not an absolute path");
}

TEST_CASE("config: a remote cache has addresses, keys and times, as texts or lists") {
  TestFolder folder;
  const std::string file = folder / "hearth.toml";
  const std::string key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";  // of RFC 8032, 7.1, test 1
  std::ofstream(file) << "remote = [\"unix:/run/casd.sock\", \"grpcs://cache:8980\"]\nremote_trusted_keys = [\"" << key
                      << "\"]\nremote_revoked_keys = \"0123456789abcdef,fedcba9876543210\"\n"
                         "remote_not_before = \"2026-11-29T12:00:00Z\"\nsandbox_read = [\"/opt/a\", \"/opt/b\"]\n";
  const auto config = load({"--config", file.c_str(), "--socket", "/s/x.sock"});
  REQUIRE(config.ok());
  REQUIRE(config->remote.addresses.size() == 2);
  CHECK(config->remote.addresses[0].text == "unix:/run/casd.sock");
  CHECK(config->remote.addresses[1].is_tls);
  REQUIRE(config->remote.trusted.keys.size() == 1);
  CHECK((config->remote.trusted.keys[0][0] == 0xd7 && config->remote.trusted.keys[0][31] == 0x1a));
  CHECK(config->remote.trusted.revoked == std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"});
  CHECK(config->remote.trusted.not_before == 1795953600);  // by date -d
  CHECK(config->sandbox_read == std::vector<std::string>{"/opt/a", "/opt/b"});
  CHECK_FALSE(load({"--socket", "/s/x.sock"})->remote.is_used());
  CHECK(failure({"--remote", "cache:80"}) ==
        "--remote 'cache:80': expected unix:/PATH, grpc://HOST:PORT or grpcs://HOST:PORT");
  CHECK(failure({"--remote-trusted-keys", "abc"}).find("'abc' is no public key") != std::string::npos);
  CHECK(failure({"--remote-revoked-keys", "abc"}).find("16 hexadecimal digits") != std::string::npos);
  CHECK(failure({"--remote-not-before", "yesterday"}).find("expected a time") != std::string::npos);
  std::ofstream(file) << "remote = [\"unix:/run/casd.sock\", 3]\n";
  CHECK(failure({"--config", file.c_str()}).find("hearth.toml:1: 'remote' must be a list of texts") !=
        std::string::npos);
  std::ofstream(file) << "cache_dir = [\"/a\"]\n";
  CHECK(failure({"--config", file.c_str()}).find("hearth.toml:1: 'cache_dir' must be a plain value") !=
        std::string::npos);
}

TEST_CASE("config: whatever is wrong is one line with its place") {
  TestFolder folder;
  const std::string file = folder / "hearth.toml";
  const auto with = [&](const std::string& content) {
    std::ofstream(file) << content;
    return failure({"--config", file.c_str(), "--socket", "/s/x.sock"});
  };
  CHECK(with("workers = 1\nwrokers = 2\n") == file + ":2: unknown setting 'wrokers'");
  CHECK(with("\nworkers = \"many\"\n") == file + ":2: workers 'many': expected a whole number");
  CHECK(with("workers = -1").find(":1: workers '-1'") != std::string::npos);
  CHECK(with("log_level = \"a\\nhearthd: all is well\\u001b[2J\"")
            .find("log_level 'a\\nhearthd: all is well\\x1b[2J': ") != std::string::npos);
  CHECK(with("workers = [1]").find("'workers' must be a plain value") != std::string::npos);
  CHECK(with("cache_limit = \"10 apples\"").find("expected a size") != std::string::npos);
  CHECK(with("a = = b").find(file + ":1: ") == 0);
  CHECK(with(std::string("\0\x01\xff garbage", 11)).find(file + ":1: ") == 0);
  CHECK(with("log_level = \"loud\"").find("expected trace") != std::string::npos);
  CHECK(with("queue_limit = 0").find("queue_limit") != std::string::npos);
  CHECK(failure({"--config", "/nowhere.toml"}).find("'/nowhere.toml'") != std::string::npos);
  CHECK(failure({"--config", folder.path().c_str()}).find("is not a file") != std::string::npos);
  CHECK(failure({"--workers", "x"}) == "--workers 'x': expected a whole number");
  CHECK(failure({"--nonsense"}).find("nonsense") != std::string::npos);
  CHECK(failure({"--socket", std::string(200, 'x').c_str()}).find("at most 101 are possible") != std::string::npos);
  CHECK(failure({"--socket", "/s/x.sock", "--ready-fd", "999999"}).find("--ready-fd 999999: no such descriptor") == 0);
  ::setenv("HEARTH_IDLE_EXIT_S", "soon", 1);
  CHECK(failure({"--socket", "/s/x.sock"}) == "HEARTH_IDLE_EXIT_S 'soon': expected seconds such as 60 or 0.5");
  ::unsetenv("HEARTH_IDLE_EXIT_S");
}

TEST_CASE("config: paths that no message could carry are refused") {
  for (const char* flag : {"--cache-dir", "--temp-dir", "--log"}) {
    CHECK(failure({"--socket", "/s/x.sock", flag, "/bad/\xff"}).find("': the path is not UTF-8") != std::string::npos);
    CHECK(load({"--socket", "/s/x.sock", flag, "/good/выход"}).ok());
  }
}

TEST_CASE("config: a program is named by an absolute path: the current folder may be anybody's") {
  for (const char* flag : {"--worker", "--blob-worker", "--ptxas"}) {
    for (const char* path : {"hearth-worker", "./hearth-worker", "../bin/hearth-worker"}) {
      const std::string told = failure({"--socket", "/s/x.sock", flag, path});
      CHECK(told.find(absl::StrCat("'", path, "' is not an absolute path")) != std::string::npos);
    }
    CHECK(load({"--socket", "/s/x.sock", flag, "/usr/bin/../bin/true"}).ok());
  }
}

TEST_CASE("config: help has every default as it is set") {
  const std::string help = load({"--help"})->message;
  const Config standard;
  CHECK(help.find("--drain SECONDS") != std::string::npos);
  for (const std::string& text :
       {absl::StrCat("Default: ", standard.drain_ms / 1000, "."), absl::StrCat("Default: ", standard.queue_limit, "."),
        std::string("Default: 10GiB."), std::string("Default: info.")}) {
    CHECK(help.find(text) != std::string::npos);
  }
}

TEST_CASE("config: a file that another user may have written is not obeyed") {
  TestFolder folder;
  const std::string file = folder / "hearth.toml";
  std::ofstream(file) << "worker = \"/bin/true\"\n";
  const std::vector<const char*> arguments = {"--config", file.c_str(), "--socket", "/s/x.sock"};
  CHECK(load(arguments).ok());
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  CHECK(failure(arguments).find("'" + file + "' can be written by other users") != std::string::npos);
  REQUIRE(::chmod(file.c_str(), 0620) == 0);
  CHECK(load(arguments).ok());  // the user's own group, as with a umask of 002
  if (::geteuid() == 0) {
    REQUIRE(::chown(file.c_str(), static_cast<uid_t>(-1), 12345) == 0);
    CHECK(failure(arguments).find("can be written by other users") != std::string::npos);
    REQUIRE(::chmod(file.c_str(), 0600) == 0);
    REQUIRE(::chown(file.c_str(), 12345, 0) == 0);
    CHECK(failure(arguments).find("belongs to user 12345") != std::string::npos);
  }
}

TEST_CASE("config: sizes and seconds") {
  CHECK(*parse_bytes("10GiB") == 10ull << 30);
  CHECK(*parse_bytes("512M") == 512ull << 20);
  CHECK(*parse_bytes("7") == 7);
  for (const char* bad : {"", "GiB", "-1", "1.5G", "99999999999999999999", "9999999999T", "1 x"}) {
    CHECK_FALSE(parse_bytes(bad).ok());
  }
  CHECK(*parse_seconds("0.5") == 500);
  for (const char* bad : {"", "-1", "nan", "inf", "1e30", "5s"}) CHECK_FALSE(parse_seconds(bad).ok());
}

}  // namespace
}  // namespace hearth::daemon
