// Daemons in this process that share a cache: a server that records what it is asked, and a key that they trust.
#pragma once
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "daemon/remote/blob_reference.h"
#include "daemon/remote/entry_address.h"
#include "daemon/remote/writer_key.h"
#include "kernels_cache/action_key.h"
#include "tests/support/remote_cache_server.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {

struct Fleet {
  using Calls = std::vector<std::string>;

  Fleet() {
    key_file = folder / "writer.key";
    REQUIRE(runtime::write_file(key_file, {secret_text(secret)}).ok());
    std::filesystem::permissions(key_file, std::filesystem::perms(0600));
  }

  void join(Config& config, bool writes) const {
    config.remote.addresses = {*parse_remote_address("unix:" + socket)};
    config.remote.trusted.keys = {secret.public_key()};
    config.remote.call_limit = std::chrono::minutes(5);  // only what is held is late
    if (writes) config.remote.writer_key_file = key_file;
  }

  // A node with a cold cache of its own. Its compiler is known, and the server's abilities, when this returns.
  std::unique_ptr<DaemonFixture> node(bool writes, const std::function<void(Config&)>& change = nullptr) {
    const std::uint64_t before = server ? server->count("GetCapabilities") : 0;
    auto fixture = std::make_unique<DaemonFixture>([&](Config& config) {
      join(config, writes);
      if (change) change(config);
    });
    if (server) REQUIRE(test::eventually([&] { return server->count("GetCapabilities") == before + 1; }));
    REQUIRE(test::eventually([&] { return fixture->stats().workers_checked(); }));
    return fixture;
  }
  void wait_until_sent(DaemonFixture& node, std::uint64_t results) {
    REQUIRE(test::eventually([&] { return node.stats().remote().sent() == results; }));
  }
  // How many results the server has, without leases.
  std::size_t count_results() {
    const auto results = server->results();
    return static_cast<std::size_t>(
        std::ranges::count_if(results, [](const auto& named) { return !named.second.output_files().empty(); }));
  }
  // Calls since `before`, without those that ask what the server can do.
  Calls calls_since(std::size_t before) {
    const Calls all = server->calls();
    Calls calls(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    std::erase(calls, "GetCapabilities");
    return calls;
  }

  // States the one plan that the server has as that of another request.
  void state_as_plan_of(const v1::PrepareRequest& request) {
    const auto blobs = server->blobs();
    for (const auto& [action, result] : server->results()) {
      if (result.output_files().empty()) continue;  // a lease
      const auto file = std::ranges::find(result.output_files(), "hearth.sig", &test::api::OutputFile::path);
      auto statement = verified_statement(blobs.at(file->digest().hash()), {{secret.public_key()}, {}, 0});
      REQUIRE(statement.ok());
      if (statement->kind != "plan") continue;
      const cache::KeyMaterial material = cache::plan_key_material(request.graph(), request.target(), request.options(),
                                                                   std::string(statement->build_id));
      statement->key = cache::key(material);
      const std::string signature = signed_statement(*statement, secret);
      server->put_blob(signature);
      test::api::ActionResult stated = result;
      for (auto& output : *stated.mutable_output_files()) {
        if (output.path() == "hearth.sig") BlobReference::of(signature).write_to(output.mutable_digest());
      }
      const EntryAddress address = address_of({statement->domain, statement->key, statement->kind, statement->salt,
                                               statement->flavour, statement->build_id});
      return server->set_result(to_hex(sha256(address.action)), stated);
    }
    FAIL("no plan was sent");
  }

  TestFolder folder;
  const std::string socket = folder / "r.sock";
  const Ed25519Secret secret = Ed25519Secret::made();
  std::string key_file;
  std::optional<test::RemoteCacheServer> server{std::in_place, "unix:" + socket};
};

}  // namespace hearth::daemon
