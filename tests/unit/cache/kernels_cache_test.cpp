// The cache as the daemon sees it: put, find, restart, collisions, listing, verification, clearing, eviction.
#include "kernels_cache/kernels_cache.h"

#include <sys/stat.h>

#include <set>

#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

TEST_CASE("a kernel that was put is found, also after a restart; files are private and read-only") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  CHECK(!cache.find_kernel(material_of(1)));
  Digest digest = fixture.put_kernel(1);
  CHECK(digest == sha256(artifact_of(1)));
  std::optional<ArtifactEntry> hit = cache.find_kernel(material_of(1));
  REQUIRE(hit);
  CHECK(hit->digest == digest);
  CHECK(hit->size_bytes == 3000);
  CHECK(slurp(cache.artifact_path(digest)) == artifact_of(1));
  struct stat file{}, dir{};
  REQUIRE(::stat(cache.artifact_path(digest).c_str(), &file) == 0);
  REQUIRE(::stat(fixture.options.dir.c_str(), &dir) == 0);
  CHECK((file.st_mode & 07777) == 0400);
  CHECK((dir.st_mode & 07777) == 0700);
  CHECK(!cache.find_kernel(material_of(2)));
  CHECK(!cache.find_plan(material_of(1)));  // another kind under the same key
  hit.reset();

  KernelsCache& reopened = fixture.open();
  CHECK(reopened.find_kernel(material_of(1)));
  CHECK(*read_artifact(reopened, digest) == artifact_of(1));
  CHECK(reopened.stats().entries == 1);
  CHECK(absl::IsNotFound(read_artifact(reopened, sha256("no such artifact")).status()));
  CHECK(fixture.warnings.empty());
}

TEST_CASE("a plan is a hit only while all its artifacts are there") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  std::vector<Digest> digests = {fixture.put_kernel(1), fixture.put_kernel(2), fixture.put_kernel(3)};
  absl::StatusOr<Pin> put = cache.put_plan(plan_material_of(1), "the plan", digests);
  REQUIRE(put.ok());
  put->release();
  std::optional<PlanEntry> plan = cache.find_plan(plan_material_of(1));
  REQUIRE(plan);
  CHECK(*plan->plan == "the plan");
  REQUIRE(plan->artifacts.size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(plan->artifacts[i] == ArtifactRef{digests[i], 3000});
  plan.reset();

  std::filesystem::remove(cache.artifact_path(digests[1]));
  CHECK(!cache.find_plan(plan_material_of(1)));
  CHECK(!cache.find_kernel(material_of(2)));
  CHECK(cache.find_kernel(material_of(1)));
  CHECK(cache.stats().entries == 2);  // the plan and kernel 2 are gone
}

TEST_CASE("a plan whose artifacts are missing is not stored at all") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  std::vector<Digest> digests = {fixture.put_kernel(1), sha256("never put")};
  absl::StatusOr<Pin> put = cache.put_plan(plan_material_of(1), "the plan", digests);
  CHECK(absl::IsFailedPrecondition(put.status()));
  CHECK(std::string(put.status().message()).find(to_hex(digests[1])) != std::string::npos);
  CHECK(!cache.find_plan(plan_material_of(1)));
  CHECK(cache.stats().artifacts == 1);
  CHECK(files_under(fixture.options.dir + "/cas").size() == 1);
  CHECK(!cache.health().degraded);  // the caller's mistake, not the disk's
}

TEST_CASE("a plan without artifacts, an empty artifact, and a plan put twice") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_plan(plan_material_of(1), "null device", {}).ok());
  REQUIRE(cache.put_plan(plan_material_of(1), "null device", {}).ok());
  CHECK(*cache.find_plan(plan_material_of(1))->plan == "null device");
  REQUIRE(cache.put_kernel(material_of(1), "").ok());
  CHECK(cache.find_kernel(material_of(1))->size_bytes == 0);
  CHECK(cache.stats().entries == 2);
  // Another result under the same key replaces the first.
  REQUIRE(cache.put_plan(plan_material_of(1), "newer", {}).ok());
  CHECK(*cache.find_plan(plan_material_of(1))->plan == "newer");
  CHECK(cache.stats().entries == 2);
}

TEST_CASE("a forced hash collision is a miss") {
  CacheFixture fixture;
  fixture.options.key_function = [](const KeyMaterial&) { return sha256("every key is this one"); };
  KernelsCache& cache = fixture.open();
  fixture.put_kernel(1);
  CHECK(cache.find_kernel(material_of(1)));
  CHECK(!cache.find_kernel(material_of(2)));
  CHECK(!cache.find_plan(plan_material_of(1)));
  fixture.put_kernel(2);
  CHECK(!cache.find_kernel(material_of(1)));
  CHECK(cache.find_kernel(material_of(2))->digest == sha256(artifact_of(2)));
  CHECK(cache.stats().entries == 1);
}

TEST_CASE("eviction keeps the limit, drops the least recently used, and never what is pinned") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 40 * 4096;
  KernelsCache& cache = fixture.open();
  Digest leased = fixture.put_kernel(0);
  std::optional<Pin> lease = cache.pin({&leased, 1});
  REQUIRE(lease);
  std::uint64_t most = 0;
  for (int i = 1; i <= 200; ++i) {
    fixture.put_kernel(i);
    CHECK(cache.find_kernel(material_of(1)));  // used again and again, so it stays
    most = std::max(most, cache.stats().bytes);
  }
  CHECK(most <= fixture.options.limit_bytes);
  CHECK(most > fixture.options.limit_bytes * 9 / 10);
  CHECK(cache.stats().evicted > 150);
  CHECK(cache.find_kernel(material_of(0)));
  CHECK(cache.find_kernel(material_of(200)));
  CHECK(!cache.find_kernel(material_of(2)));
  std::size_t files = files_under(fixture.options.dir + "/cas").size();
  CHECK(files == cache.stats().artifacts);
  CHECK(files * 4096 <= fixture.options.limit_bytes);
  lease->release();
  CHECK(cache.stats().pinned == 0);
  for (int i = 201; i <= 260; ++i) fixture.put_kernel(i);
  CHECK(!cache.find_kernel(material_of(0)));
}

TEST_CASE("when everything is pinned the cache grows over its limit rather than take a leased file away") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 4 * 4096;
  KernelsCache& cache = fixture.open();
  std::vector<ArtifactEntry> held;
  for (int i = 0; i < 10; ++i) held.push_back(*cache.put_kernel(material_of(i), artifact_of(i)));
  for (const ArtifactEntry& entry : held) CHECK(std::filesystem::exists(cache.artifact_path(entry.digest)));
  held.clear();
  fixture.put_kernel(10);
  CHECK(cache.stats().bytes <= fixture.options.limit_bytes);
  CHECK(cache.find_kernel(material_of(10)));
}

TEST_CASE("evicting an artifact takes the plans that need it; using a plan keeps its artifacts") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 20 * 4096;
  KernelsCache& cache = fixture.open();
  std::vector<Digest> old_digests = {fixture.put_kernel(1), fixture.put_kernel(2)};
  REQUIRE(cache.put_plan(plan_material_of(1), "old plan", old_digests).ok());
  std::vector<Digest> used_digests = {fixture.put_kernel(3), fixture.put_kernel(4)};
  REQUIRE(cache.put_plan(plan_material_of(2), "used plan", used_digests).ok());
  for (int i = 10; i < 60; ++i) {
    fixture.put_kernel(i);
    REQUIRE(cache.find_plan(plan_material_of(2)));
  }
  CHECK(!cache.find_plan(plan_material_of(1)));
  CHECK(!cache.find_kernel(material_of(1)));
  for (const CacheEntryInfo& entry : cache.list()) CHECK(entry.key != key(plan_material_of(1)));
}

TEST_CASE("last-used times survive a restart, though a hit writes nothing itself") {
  FaultFileSystem file_system;
  CacheFixture fixture;
  fixture.options.file_system = &file_system;
  fixture.options.limit_bytes = 8 * 4096;
  fixture.open();
  for (int i = 1; i <= 6; ++i) fixture.put_kernel(i);
  std::string wal = fixture.options.dir + "/index.sqlite-wal";
  auto wal_size = std::filesystem::file_size(wal);
  auto wal_time = std::filesystem::last_write_time(wal);
  int creates = file_system.count(Call::kCreate);
  for (int i = 0; i < 100; ++i) CHECK(fixture.cache->find_kernel(material_of(1)));
  CHECK(std::filesystem::file_size(wal) == wal_size);
  CHECK(std::filesystem::last_write_time(wal) == wal_time);
  CHECK(file_system.count(Call::kCreate) == creates);
  fixture.open();
  for (int i = 7; i <= 11; ++i) fixture.put_kernel(i);
  CHECK(fixture.cache->find_kernel(material_of(1)));
  CHECK(!fixture.cache->find_kernel(material_of(2)));
}

TEST_CASE("an artifact is hashed once a process, and again when its file has changed") {
  FaultFileSystem file_system;
  CacheFixture fixture;
  fixture.options.file_system = &file_system;
  fixture.open();
  Digest digest = fixture.put_kernel(1);
  fixture.open();
  int reads = file_system.count(Call::kRead);
  for (int i = 0; i < 10; ++i) CHECK(fixture.cache->find_kernel(material_of(1)));
  CHECK(file_system.count(Call::kRead) == reads + 1);
  spill(fixture.cache->artifact_path(digest), artifact_of(1));  // same bytes, another file
  CHECK(fixture.cache->find_kernel(material_of(1)));
  CHECK(file_system.count(Call::kRead) == reads + 2);
}

TEST_CASE("list gives entries, most recently used first") {
  CacheFixture fixture;
  std::int64_t time = 1'700'000'000'000'000'000;
  fixture.options.now_unix_ns = [&] { return time += 1'000'000'000; };
  KernelsCache& cache = fixture.open();
  for (int i = 0; i < 300; ++i) fixture.put_kernel(i, 100);
  std::optional<ArtifactEntry> held = cache.find_kernel(material_of(5));
  std::vector<CacheEntryInfo> all = cache.list();
  REQUIRE(all.size() == 300);
  CHECK(all[0].key == key(material_of(5)));
  CHECK(all[0].leased);
  CHECK(all[0].kind == EntryKind::kKernel);
  CHECK(all[0].bytes == 100);
  CHECK(all[0].created_unix_s < all[0].last_used_unix_s);
  CHECK(all[1].key == key(material_of(299)));
  CHECK(!all[1].leased);
  std::set<Digest> keys;
  for (const CacheEntryInfo& entry : all) keys.insert(entry.key);
  CHECK(keys.size() == 300);
  CHECK(cache.list(7).size() == 7);
}

TEST_CASE("clear removes everything but what is leased") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  std::vector<Digest> digests = {fixture.put_kernel(1)};
  std::optional<Pin> lease = *cache.put_plan(plan_material_of(1), "leased plan", digests);
  for (int i = 2; i < 12; ++i) fixture.put_kernel(i);
  ClearReport report = cache.clear();
  CHECK(report.removed == 10);
  CHECK(report.kept_leased == 2);
  CHECK(report.freed_bytes >= 10 * 4096);
  CHECK(cache.find_plan(plan_material_of(1)));
  CHECK(!cache.find_kernel(material_of(2)));
  CHECK(cache.stats().evicted == 0);
  lease.reset();
  CHECK(cache.clear().removed == 2);
  CHECK(cache.stats().bytes == 0);
  CHECK(files_under(fixture.options.dir + "/cas").empty());
  fixture.put_kernel(3);
  CHECK(cache.find_kernel(material_of(3)));
}

TEST_CASE("a miss is explained by the key part that differs from the nearest entry") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  CHECK(!cache.explain_miss(material_of(1)));
  auto material = [](const std::string& graph, const std::string& features, const std::string& build) {
    KeyMaterial result("hearth.plan.test");
    result.add("graph.nodes", graph);
    result.add("target.features", features);
    result.add("build_id", build);
    return result;
  };
  REQUIRE(cache.put_plan(material("g1", "avx2", "b1"), "one", {}).ok());
  REQUIRE(cache.put_plan(material("g2", "avx512", "b1"), "two", {}).ok());
  std::optional<MissExplanation> why = cache.explain_miss(material("g1", "avx512f", "b1"));
  REQUIRE(why);
  CHECK(why->differing == std::vector<std::string>{"target.features"});
  CHECK(why->nearest_key == key(material("g1", "avx2", "b1")));
  // One of megabytes is not read for it, and does not end the search.
  REQUIRE(cache.put_plan(material("g1", "avx512f" + std::string(2 << 20, 'x'), "b1"), "large", {}).ok());
  why = cache.explain_miss(material("g1", "avx512f", "b1"));
  REQUIRE(why);
  CHECK(why->nearest_key == key(material("g1", "avx2", "b1")));
  // What lies between is no plan.
  fixture.put_kernel(7);
  CHECK(cache.explain_miss(material("g1", "avx512f", "b1"))->nearest_key == why->nearest_key);
}

TEST_CASE("pins: all or none, counted, and a condemned entry cannot be pinned") {
  auto table = std::make_shared<PinTable>();
  Digest a = sha256("a"), b = sha256("b");
  std::vector<Digest> both = {a, b};
  std::optional<Pin> first = PinTable::pin(table, both), second = PinTable::pin(table, {&a, 1});
  REQUIRE((first && second));
  CHECK(!table->begin_eviction(a));
  first.reset();
  CHECK(table->pinned(a));
  CHECK(!table->pinned(b));
  REQUIRE(table->begin_eviction(b));
  CHECK(!PinTable::pin(table, both));
  CHECK(table->num_pinned() == 1);
  table->cancel_eviction(b);
  Pin moved = *PinTable::pin(table, both);
  second = std::move(moved);
  CHECK(table->num_pinned() == 2);
  second->release();
  second->release();
  CHECK(table->num_pinned() == 0);
  Pin outlives = *PinTable::pin(table, both);
  table.reset();
  CHECK(outlives.digests() == both);
}
