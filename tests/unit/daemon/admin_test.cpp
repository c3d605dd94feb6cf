#include <poll.h>

#include <fstream>
#include <map>
#include <thread>

#include "daemon/health.h"
#include "runtime/build_id.h"
#include "tests/support/eventually.h"
#include "tests/unit/cache/fault_file_system.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

TEST_CASE("health: what an earlier look found and tells later changes nothing") {
  Health health;
  const Clock::time_point before{}, now = before + std::chrono::seconds(1);
  health.set("workers", absl::OkStatus(), now);
  health.set("workers", absl::FailedPreconditionError("of another build"), before);
  CHECK(health.text() == "ready");
  health.set("workers", absl::FailedPreconditionError("of another build"), now);
  CHECK(health.text() == "degraded: of another build");
  health.set("workers", absl::OkStatus(), now);
  CHECK(health.text() == "ready");
}

TEST_CASE("admin: stats, list, verify, clear") {
  DaemonFixture fixture;
  const Answer answer = fixture.prepare(test_request({"kernel:a", "kernel:b"}));
  REQUIRE(answer.status.ok());
  const v1::StatsResponse stats = fixture.stats();
  CHECK(stats.pid() == static_cast<std::uint64_t>(::getpid()));
  CHECK(stats.build_id() == std::string(build_id()));
  CHECK((stats.health() == "ready" && stats.cache_entries() == 4 && stats.workers() >= 1 && stats.rss_bytes() > 0));
  CHECK(stats.sandbox() == "best-effort");
  CHECK(stats.worker_sandbox().layers_size() == 10);
  CHECK(stats.blob_worker_sandbox().layers_size() == 0);  // none was needed
  {
    grpc::ClientContext context;
    v1::CacheListResponse list;
    REQUIRE(fixture.admin().CacheList(&context, {}, &list).ok());
    REQUIRE(list.entries_size() == 4);
    std::map<std::string, int> kinds;
    for (const v1::CacheEntry& entry : list.entries()) ++kinds[entry.kind()];
    CHECK((kinds["plan"] == 1 && kinds["records"] == 1 && kinds["kernel"] == 2));
  }
  const std::string path = answer.result.artifacts(0).path();
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(0).put('#');
  {
    grpc::ClientContext context;
    v1::CacheVerifyResponse report;
    REQUIRE(fixture.admin().CacheVerify(&context, {}, &report).ok());
    CHECK((report.checked() >= 2 && report.quarantined() == 1 && report.problems_size() >= 1));
  }
  // What the answered Prepare holds it lets go after the client has its answer: until then clear leaves it.
  std::uint64_t removed = 0;
  CHECK(test::eventually([&] {
    grpc::ClientContext context;
    v1::CacheClearResponse report;
    REQUIRE(fixture.admin().CacheClear(&context, {}, &report).ok());
    removed += report.removed();
    return fixture.stats().cache_entries() == 0;
  }));
  CHECK(removed >= 1);
}

TEST_CASE("admin: a client of the compile service can neither stop the daemon nor empty its cache") {
  DaemonFixture fixture;
  REQUIRE(fixture.prepare(test_request({"kernel:a"})).status.ok());
  const auto stub = v1::AdminService::NewStub(fixture.channel());
  const std::uint64_t entries = fixture.stats().cache_entries();
  const auto is_denied = [&](auto method, auto request, auto response) {
    grpc::ClientContext context;
    const grpc::Status status = ((*stub).*method)(&context, request, &response);
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED &&
           status.error_message().find(admin_socket_path(fixture.config().socket)) != std::string::npos;
  };
  using Stub = v1::AdminService::Stub;
  CHECK(is_denied(&Stub::Shutdown, v1::ShutdownRequest(), v1::ShutdownResponse()));
  CHECK(is_denied(&Stub::CacheClear, v1::CacheClearRequest(), v1::CacheClearResponse()));
  CHECK(is_denied(&Stub::CacheVerify, v1::CacheVerifyRequest(), v1::CacheVerifyResponse()));
  v1::RemoveBlobsRequest all;
  all.set_all(true);
  CHECK(is_denied(&Stub::RemoveBlobs, all, v1::RemoveBlobsResponse()));
  v1::RemoveModelRequest one;
  one.set_model("m");
  CHECK(is_denied(&Stub::RemoveModel, one, v1::RemoveModelResponse()));
  pollfd entry{fixture.daemon().stop_event(), POLLIN, 0};
  CHECK(::poll(&entry, 1, 0) == 0);
  grpc::ClientContext context;
  v1::StatsResponse stats;
  REQUIRE(stub->Stats(&context, {}, &stats).ok());
  CHECK(stats.cache_entries() == entries);
}

TEST_CASE("admin: walks over the whole cache keep no request waiting") {
  cache::testing::FaultFileSystem disk;
  DaemonFixture fixture([&](Config& config) { config.file_system = &disk; });
  REQUIRE(fixture.prepare(test_request({"kernel:a"})).status.ok());
  disk.hold(cache::testing::Call::kRead);
  std::vector<std::thread> walks;
  for (int i = 0; i < 4; ++i) {
    walks.emplace_back([&] {
      grpc::ClientContext context;
      v1::CacheVerifyResponse report;
      fixture.admin().CacheVerify(&context, {}, &report);
    });
  }
  disk.wait_until_one_is_held();
  CHECK(fixture.prepare(test_request({"kernel:b"})).status.ok());  // a miss, with all four verifies under way
  disk.let_go();
  for (std::thread& walk : walks) walk.join();
}

TEST_CASE("admin: shutdown is answered and wakes the owner") {
  DaemonFixture fixture;
  pollfd entry{fixture.daemon().stop_event(), POLLIN, 0};
  CHECK(::poll(&entry, 1, 0) == 0);
  grpc::ClientContext context;
  v1::ShutdownResponse response;
  CHECK(fixture.admin().Shutdown(&context, {}, &response).ok());
  CHECK(::poll(&entry, 1, 5000) == 1);
}

TEST_CASE("fetch: an artifact in chunks, or a clear error") {
  DaemonFixture fixture;
  const Answer answer = fixture.prepare(test_request({"kernel:a"}));
  const auto fetch = [&](const std::string& digest, std::string* bytes) {
    grpc::ClientContext context;
    v1::FetchArtifactRequest request;
    request.set_digest(digest);
    auto stream = fixture.compiler().FetchArtifact(&context, request);
    v1::FetchArtifactChunk chunk;
    while (stream->Read(&chunk)) {
      CHECK(chunk.data().size() <= 1u << 20);
      *bytes += chunk.data();
    }
    return stream->Finish();
  };
  std::string bytes;
  CHECK(fetch(answer.result.artifacts(0).digest(), &bytes).ok());
  CHECK(bytes == "artifact of (kernel a) for fake-unknown-linux-gnu");
  CHECK(fetch(std::string(32, 'x'), &bytes).error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(fetch("short", &bytes).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  const std::string path = answer.result.artifacts(0).path();
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(0).put('#');
  std::string damaged;
  CHECK(fetch(answer.result.artifacts(0).digest(), &damaged).error_code() == grpc::StatusCode::DATA_LOSS);
  CHECK(damaged.empty());
}

}  // namespace
}  // namespace hearth::daemon
