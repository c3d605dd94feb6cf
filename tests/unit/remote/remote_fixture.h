// A server in this process, a cache that asks it, and one entry that a trusted writer has put there.
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ed25519.h"
#include "base/file.h"
#include "daemon/remote/remote_cache.h"
#include "daemon/remote/writer_key.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/remote_cache_server.h"
#include "tests/unit/cache/temp_dir.h"

namespace hearth::daemon {

struct RemoteFixture {
  static constexpr std::uint64_t kMostBytes = 32 << 20;

  RemoteFixture() {
    settings.addresses = {*parse_remote_address("unix:" + socket)};
    settings.salt = "fleet";
    settings.trusted.keys = {secret.public_key()};
    settings.call_limit = std::chrono::minutes(5);  // only what is held is late
    const std::string key_file = dir / "writer.key";
    REQUIRE(runtime::write_file(key_file, {secret_text(secret)}).ok());
    std::filesystem::permissions(key_file, std::filesystem::perms(0600));
    settings.writer_key_file = key_file;
  }

  // The cache under test; made when first asked for, with the settings of then.
  RemoteCache& remote() {
    if (!cache) cache = std::make_unique<RemoteCache>(settings, clock);
    return *cache;
  }

  RemoteAnswer fetch(const EntryKey& key, std::uint64_t most_bytes = kMostBytes) {
    auto answer = std::make_shared<std::promise<RemoteAnswer>>();
    std::future<RemoteAnswer> future = answer->get_future();
    remote().fetch(key, most_bytes, [answer](RemoteAnswer got) { answer->set_value(std::move(got)); });
    REQUIRE(future.wait_for(test::give_up()) == std::future_status::ready);
    return future.get();
  }

  void publish(const EntryKey& key, const std::vector<RemoteFile>& files) {
    const std::uint64_t before = remote().counters().uploads.sent;
    remote().publish(key, files);
    const auto is_over = [&] {
      const UploadCounters uploads = remote().counters().uploads;
      return uploads.sent == before + 1 || uploads.failed + uploads.dropped > 0;
    };
    REQUIRE(test::eventually(is_over));
    INFO(remote().health().ToString());
    REQUIRE(remote().counters().uploads.sent == before + 1);
  }

  std::uint64_t count(RemoteOutcome outcome) { return remote().counters().lookups[static_cast<std::size_t>(outcome)]; }

  static std::vector<RemoteFile> some_files() {
    return {{"plan", "the plan"}, {"k/1", std::string(4000, 'k')}, {"k/2", std::string(2000, 'l')}};
  }
  static bool are_equal(const std::vector<RemoteFile>& a, const std::vector<RemoteFile>& b) {
    return std::ranges::equal(
        a, b, [](const RemoteFile& x, const RemoteFile& y) { return x.path == y.path && x.bytes == y.bytes; });
  }

  cache::testing::TempDir dir;
  const std::string socket = dir / "s";
  test::ManualClock clock;
  Ed25519Secret secret = Ed25519Secret::made();
  EntryKey entry{"hearth.plan.v3", sha256("a graph"), "plan", "fleet", sha256("a worker"), "build 1"};
  RemoteSettings settings;
  std::optional<test::RemoteCacheServer> server{std::in_place, "unix:" + socket};
  std::unique_ptr<RemoteCache> cache;  // goes before its server
};

}  // namespace hearth::daemon
