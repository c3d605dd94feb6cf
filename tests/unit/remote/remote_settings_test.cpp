// Addresses, keys, tokens and their files: what is wrong is said by name, with its remedy, and nothing is sent.
#include <catch2/catch.hpp>

#include "daemon/remote/remote_address.h"
#include "daemon/remote/remote_channel.h"
#include "tests/unit/remote/remote_fixture.h"

namespace hearth::daemon {
namespace {

std::string problem_of(RemoteFixture& f) {
  const RemoteAnswer answer = f.fetch(f.entry);
  CHECK(answer.outcome == RemoteOutcome::kError);
  CHECK(f.server->calls().empty());
  return std::string(answer.status.message());
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string file(RemoteFixture& f, const char* name, const std::string& text, int mode) {
  const std::string path = f.dir / name;
  REQUIRE(runtime::write_file(path, {text}).ok());
  std::filesystem::permissions(path, std::filesystem::perms(mode));
  return path;
}

TEST_CASE("Addresses of a remote are sockets, hosts with ports, and nothing else", "[remote]") {
  CHECK(parse_remote_address("unix:/run/casd.sock")->target == "unix:/run/casd.sock");
  CHECK_FALSE(parse_remote_address("unix:/run/casd.sock")->is_tls);
  CHECK(parse_remote_address("grpc://cache:8980")->target == "dns:///cache:8980");
  CHECK(parse_remote_address("grpcs://cache.example:443")->is_tls);
  CHECK(parse_remote_address("grpcs://[::1]:443")->target == "dns:///[::1]:443");
  for (const char* text :
       {"", "cache:8980", "http://cache:80", "grpc://cache", "grpc://cache:0", "grpc://cache:70000", "grpc://:80",
        "unix:run/casd.sock", "unix:", "grpc://a b:80", "grpc://a:b:80", "grpcs://cache:80/path", "grpc://cache:8x"})
    CHECK(absl::IsInvalidArgument(parse_remote_address(text).status()));
  std::vector<RemoteAddress> addresses;
  CHECK(parse_remote_addresses("unix:/a, grpc://b:1", &addresses).ok());
  CHECK(addresses.size() == 2);
  CHECK(parse_remote_addresses("", &addresses).ok());
  CHECK(addresses.empty());
  CHECK_FALSE(parse_remote_addresses("unix:/a,unix:/b,unix:/c", &addresses).ok());
  CHECK_FALSE(parse_remote_addresses("unix:/a,", &addresses).ok());
}

TEST_CASE("A public key is what keygen prints", "[remote]") {
  const Ed25519Secret secret = Ed25519Secret::made();
  CHECK(*parse_public_key(public_key_text(secret.public_key())) == secret.public_key());
  CHECK(*parse_public_key(" " + public_key_text(secret.public_key()) + "\n") == secret.public_key());
  for (const char* text : {"", "AAAA", "not base64!", "ssh-ed25519 AAAA"})
    CHECK(absl::IsInvalidArgument(parse_public_key(text).status()));
}

TEST_CASE("A writer key is read from a file of its owner alone", "[remote]") {
  RemoteFixture f;
  CHECK(read_writer_key(f.settings.writer_key_file)->public_key() == f.secret.public_key());
  CHECK(absl::IsFailedPrecondition(read_writer_key(f.dir / "none").status()));
  const std::string nonsense = file(f, "nonsense", "hearth-ed25519-secret AAAA", 0600);
  CHECK(has(std::string(read_writer_key(nonsense).status().message()), "hearth remote keygen"));
  const std::string open = file(f, "open", secret_text(f.secret), 0644);
  CHECK(has(std::string(read_writer_key(open).status().message()), "chmod 600"));
}

TEST_CASE("A token is sent, and again when its file changes", "[remote]") {
  RemoteFixture f;
  f.settings.token_file = file(f, "token", "first\n", 0600);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  CHECK(f.server->metadata("authorization") == "Bearer first");
  f.settings.token_file = file(f, "token", "second one is refused as a whole", 0600);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  file(f, "token", "second", 0600);
  f.clock.advance(std::chrono::seconds(3));
  f.remote().maintain();
  REQUIRE(test::eventually([&] { return f.remote().is_asked(); }));
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  CHECK(f.server->metadata("authorization") == "Bearer second");
}

TEST_CASE("A token or key that other users can read is not used", "[remote]") {
  RemoteFixture f;
  SECTION("token") {
    f.settings.token_file = file(f, "token", "t", 0644);
    CHECK(has(problem_of(f), "remote_token_file: other users can read or write"));
  }
  SECTION("no token") {
    f.settings.token_file = f.dir / "none";
    CHECK(has(problem_of(f), "remote_token_file: '"));
  }
  SECTION("empty token") {
    f.settings.token_file = file(f, "token", " \n", 0600);
    CHECK(has(problem_of(f), "holds no token"));
  }
  SECTION("key") {
    f.settings.addresses = {*parse_remote_address("grpcs://localhost:9")};
    f.settings.ca_file = f.settings.certificate_file = file(f, "ca.pem", "-", 0644);
    f.settings.key_file = file(f, "key.pem", "-", 0644);
    CHECK(has(problem_of(f), "remote_key: other users can read or write"));
  }
  SECTION("key without certificate") {
    f.settings.addresses = {*parse_remote_address("grpcs://localhost:9")};
    f.settings.ca_file = file(f, "ca.pem", "-", 0644);
    f.settings.key_file = file(f, "key.pem", "-", 0600);
    CHECK(has(problem_of(f), "give both"));
  }
  SECTION("no authorities") {
    f.settings.addresses = {*parse_remote_address("grpcs://localhost:9")};
    f.settings.ca_file = f.dir / "none";
    CHECK(has(problem_of(f), "remote_ca: "));
  }
  SECTION("token in the clear") {
    f.settings.addresses = {*parse_remote_address("grpc://cache.example:9")};
    f.settings.token_file = file(f, "token", "t", 0600);
    CHECK(has(problem_of(f), "use grpcs://"));
  }
}

}  // namespace
}  // namespace hearth::daemon
