// Every system call of a put fails once, and for good: no acknowledgement, no partial entry, and recovery.
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

const std::vector<std::pair<Call, std::string>> kCallsOfAPut = {
    {Call::kMakeDir, "mkdir"},
    {Call::kCreate, "create"},
    {Call::kWrite, "write"},
    {Call::kSync, "fsync"},
    {Call::kClose, "close"},
    {Call::kRename, "rename"},
    {Call::kSyncDir, "fsync directory"},
};

}  // namespace

TEST_CASE("a put is acknowledged only after write, fsync, rename and directory fsync have all succeeded") {
  for (const auto& [call, name] : kCallsOfAPut) {
    for (int error : {ENOSPC, EIO, EDQUOT}) {
      for (int nth : {1, 2}) {
        if (nth == 2 && error != ENOSPC) continue;
        CAPTURE(name, error, nth);
        FaultFileSystem file_system;
        CacheFixture fixture;
        fixture.options.file_system = &file_system;
        KernelsCache& cache = fixture.open();
        fixture.put_kernel(1);
        int before = file_system.count(call);
        file_system.fail(call, error, nth);
        absl::StatusOr<ArtifactEntry> put = cache.put_kernel(material_of(2), artifact_of(2));
        bool reached = file_system.count(call) - before >= nth;  // a put creates two files, but renames once
        CHECK(put.ok() != reached);
        if (nth == 1) REQUIRE(reached);
        if (!reached) continue;
        CHECK(put.status().code() ==
              (error == EIO ? absl::StatusCode::kUnavailable : absl::StatusCode::kResourceExhausted));
        CHECK(!cache.find_kernel(material_of(2)));
        CHECK(cache.stats().entries == 1);
        CHECK(files_under(fixture.options.dir + "/cas").size() == 1);
        CHECK(files_under(fixture.options.dir + "/tmp").empty());
        CHECK(cache.health().degraded);
        CHECK(!cache.health().reason.empty());
        // The cache goes on: what was there is still a hit, and the next put works and heals it.
        CHECK(cache.find_kernel(material_of(1)));
        fixture.put_kernel(2);
        CHECK(cache.find_kernel(material_of(2)));
        CHECK(!cache.health().degraded);
      }
    }
  }
}

TEST_CASE("all of a plan publishes or none, whichever call fails") {
  for (const auto& [call, name] : kCallsOfAPut) {
    CAPTURE(name);
    FaultFileSystem file_system;
    CacheFixture fixture;
    fixture.options.file_system = &file_system;
    KernelsCache& cache = fixture.open();
    std::vector<Digest> digests = {fixture.put_kernel(1), fixture.put_kernel(2)};
    file_system.fail(call, ENOSPC);
    CHECK(absl::IsResourceExhausted(cache.put_plan(plan_material_of(1), "the plan", digests).status()));
    CHECK(!cache.find_plan(plan_material_of(1)));
    CHECK(files_under(fixture.options.dir + "/cas").size() == 2);
    KernelsCache& reopened = fixture.open();
    CHECK(!reopened.find_plan(plan_material_of(1)));
    CHECK(reopened.find_kernel(material_of(1)));
    REQUIRE(reopened.put_plan(plan_material_of(1), "the plan", digests).ok());
    CHECK(*reopened.find_plan(plan_material_of(1))->plan == "the plan");
  }
}

TEST_CASE("a full disk degrades health with the reason; the cache notices by itself that space is back") {
  FaultFileSystem file_system;
  CacheFixture fixture;
  std::int64_t time = 1'700'000'000'000'000'000;
  fixture.options.file_system = &file_system;
  fixture.options.now_unix_ns = [&] { return time; };
  KernelsCache& cache = fixture.open();
  fixture.put_kernel(1);
  file_system.fail(Call::kWrite, ENOSPC, 1, /*forever=*/true);
  for (int i = 2; i < 20; ++i) CHECK(!cache.put_kernel(material_of(i), artifact_of(i)).ok());
  CHECK(cache.find_kernel(material_of(1)));
  CHECK(cache.health().degraded);
  CHECK(cache.health().reason.find("No space left on device") != std::string::npos);
  time += 20'000'000'000;
  CHECK(cache.health().degraded);  // it has looked, the disk is still full
  file_system.heal();
  time += 6'000'000'000;
  CHECK(!cache.health().degraded);
  fixture.put_kernel(2);
}

TEST_CASE("an index that cannot grow fails puts with a typed error, and recovers") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  fixture.put_kernel(0);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{}, small{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  small = old;
  small.rlim_cur = 200'000;  // the artifacts fit, the write-ahead log soon does not
  std::vector<absl::Status> results;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  for (int i = 1; i <= 60; ++i) results.push_back(cache.put_kernel(material_of(i), artifact_of(i)).status());
  bool degraded = cache.health().degraded;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  int failed = 0;
  for (int i = 1; i <= 60; ++i) {
    CAPTURE(i, results[i - 1]);
    failed += !results[i - 1].ok();
    // SQLite reports this limit as I/O error, and a full disk as full.
    bool typed = absl::IsUnavailable(results[i - 1]) || absl::IsResourceExhausted(results[i - 1]);
    CHECK((results[i - 1].ok() || typed));
    CHECK(cache.find_kernel(material_of(i)).has_value() == results[i - 1].ok());
  }
  CHECK(failed > 10);
  CHECK(degraded);
  CHECK(files_under(fixture.options.dir + "/cas").size() == cache.stats().artifacts);
  for (int i = 1; i <= 60; ++i) fixture.put_kernel(i);
  CHECK(!cache.health().degraded);
  CHECK(fixture.open().stats().entries == 61);
}

TEST_CASE("files that cannot be read, moved away or removed are misses, not crashes") {
  FaultFileSystem file_system;
  CacheFixture fixture;
  fixture.options.file_system = &file_system;
  fixture.open();
  Digest digest = fixture.put_kernel(1);
  KernelsCache& cache = fixture.open();
  file_system.fail(Call::kRead, EIO, 1, true);
  CHECK(!cache.find_kernel(material_of(1)));
  CHECK(absl::IsUnavailable(read_artifact(cache, digest).status()));
  file_system.heal();
  CHECK(cache.find_kernel(material_of(1)));  // a passing read error loses nothing

  spill(cache.artifact_path(digest), artifact_of(2));
  file_system.fail(Call::kRename, EIO, 1, true);
  file_system.fail(Call::kRemove, EIO, 1, true);
  for (int i = 0; i < 3; ++i) CHECK(!cache.find_kernel(material_of(1)));
  file_system.heal();
  fixture.put_kernel(1);
  CHECK(cache.find_kernel(material_of(1)));
}
