#include <atomic>
#include <thread>

#include "kernels_cache/file_system.h"
#include "tests/unit/daemon/blob_fixture.h"

namespace hearth::daemon {
namespace {

// The real file system, whose writes fail with ENOSPC while `full`.
class FullDisk : public cache::FileSystem {
 public:
  std::atomic<bool> full{false};

  absl::Status make_dir(const std::string& path, unsigned mode) override { return real_.make_dir(path, mode); }
  absl::StatusOr<int> create(const std::string& path, unsigned mode) override { return real_.create(path, mode); }
  absl::Status write_all(int fd, std::string_view bytes) override {
    if (full) return cache::errno_status(ENOSPC, "write");
    return real_.write_all(fd, bytes);
  }
  absl::Status sync(int fd) override { return real_.sync(fd); }
  absl::Status close_file(int fd) override { return real_.close_file(fd); }
  absl::Status rename_file(const std::string& from, const std::string& to) override {
    return real_.rename_file(from, to);
  }
  absl::Status sync_dir(const std::string& path) override { return real_.sync_dir(path); }
  absl::Status remove_file(const std::string& path) override { return real_.remove_file(path); }
  absl::StatusOr<std::string> read_file(const std::string& path) override { return real_.read_file(path); }
  absl::StatusOr<cache::FileId> identify(const std::string& path) override { return real_.identify(path); }
  absl::StatusOr<std::vector<std::string>> list_dir(const std::string& path) override { return real_.list_dir(path); }
  absl::StatusOr<std::uint64_t> type_magic(const std::string& path) override { return real_.type_magic(path); }

 private:
  cache::FileSystem& real_ = cache::posix_file_system();
};

TEST_CASE("full disk: a blob is served from memory, compiled once") {
  FullDisk disk;
  BlobFixture fixture([&](Config& config) { config.file_system = &disk; });
  disk.full = true;
  const BlobReply miss = fixture.compile("x");
  REQUIRE(miss.status.ok());
  CHECK(miss.result.artifact().path().empty());
  grpc::ClientContext context;
  v1::FetchArtifactRequest fetch;
  fetch.set_digest(miss.result.artifact().digest());
  auto stream = fixture.daemon().compiler().FetchArtifact(&context, fetch);
  v1::FetchArtifactChunk chunk;
  REQUIRE(stream->Read(&chunk));
  CHECK(chunk.data() == "x:include a.h\ninclude deep/b.hA1 B1 ");
  CHECK(fixture.compile("x").result.hit());
  fixture.write("root/second/a.h", "A2 ");
  CHECK_FALSE(fixture.compile("x").result.hit());
  disk.full = false;
  fixture.write("root/second/a.h", "A3 ");
  CHECK_FALSE(fixture.compile("x").result.artifact().path().empty());
  fixture.write("root/second/a.h", "A2 ");
  CHECK(fixture.compile("x").result.hit());
  CHECK(fixture.check_identity(5).blobs_compiled() == 3);
}

TEST_CASE("full disk: Prepare succeeds from memory, health says degraded, recovers") {
  FullDisk disk;
  DaemonFixture fixture([&](Config& config) { config.file_system = &disk; });
  REQUIRE(fixture.prepare(test_request({"kernel:before"})).status.ok());
  disk.full = true;
  const v1::PrepareRequest request = test_request({"kernel:before", "kernel:during"});
  const Answer miss = fixture.prepare(request);
  REQUIRE(miss.status.ok());
  CHECK(miss.result.compiled_kernels() == 1);
  REQUIRE(miss.result.artifacts_size() == 2);
  CHECK_FALSE(miss.result.artifacts(0).path().empty());
  CHECK(miss.result.artifacts(1).path().empty());
  grpc::ClientContext context;
  v1::FetchArtifactRequest fetch;
  fetch.set_digest(miss.result.artifacts(1).digest());
  auto stream = fixture.compiler().FetchArtifact(&context, fetch);
  v1::FetchArtifactChunk chunk;
  REQUIRE(stream->Read(&chunk));
  CHECK(chunk.data() == "artifact of (kernel during) for fake-unknown-linux-gnu");
  CHECK(fixture.stats().health().find("degraded: ") == 0);
  const Answer hit = fixture.prepare(request);
  CHECK((hit.result.plan_hit() && hit.result.plan() == miss.result.plan()));
  CHECK(fixture.prepare(test_request({"kernel:during", "kernel:more"})).result.cache_hits() == 1);

  disk.full = false;
  REQUIRE(fixture.prepare(test_request({"kernel:after"})).status.ok());
  CHECK(fixture.stats().health() == "ready");
  CHECK(fixture.stats().kernels_compiled() == 4);
  fixture.check_identity(5);
}

TEST_CASE("unusable cache folder: the daemon refuses to start and names it") {
  TestFolder folder;
  Config config;
  config.socket = folder / "s.sock";
  config.cache_dir = "/proc/hearth/cache";
  config.worker = program("hearth-fake-worker");
  config.workers = 1;
  const absl::Status status = HearthDaemon::start(config).status();
  CHECK_FALSE(status.ok());
  CHECK(std::string(status.message()).find("/proc/hearth") != std::string::npos);
}

TEST_CASE("one cache folder, two daemons: the second refuses") {
  DaemonFixture fixture;
  Config config = fixture.config();
  config.socket = fixture.folder() / "other.sock";
  CHECK(absl::IsFailedPrecondition(HearthDaemon::start(config).status()));
}

}  // namespace
}  // namespace hearth::daemon
