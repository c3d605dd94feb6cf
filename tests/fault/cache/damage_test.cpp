// Flipped bits: every one is found before its file is handed out, quarantined once, and healed by the next put.
#include <sqlite3.h>

#include "tests/unit/cache/cache_fixture.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

void flip_one_bit(const std::string& path, std::size_t where) {
  std::string bytes = slurp(path);
  REQUIRE(!bytes.empty());
  bytes[where % bytes.size()] ^= static_cast<char>(1 << (where % 8));
  spill(path, bytes);
}

}  // namespace

TEST_CASE(
    "one flipped bit in each of 200 artifacts, with and without a restart: all found, quarantined and stored anew") {
  constexpr int kEntries = 200;
  for (bool restart : {false, true}) {
    CAPTURE(restart);
    CacheFixture fixture;
    fixture.open();
    for (int i = 0; i < kEntries; ++i) fixture.put_kernel(i, 200 + i);
    if (restart) fixture.open();
    KernelsCache& cache = *fixture.cache;
    for (int i = 0; i < kEntries; ++i) flip_one_bit(cache.artifact_path(sha256(artifact_of(i, 200 + i))), i * 37u);
    for (int i = 0; i < kEntries; ++i) REQUIRE(!cache.find_kernel(material_of(i)));
    CHECK(cache.stats().quarantined == kEntries);
    CHECK(cache.stats().entries == 0);
    CHECK(fixture.warnings.size() == kEntries);
    CHECK(files_under(fixture.options.dir + "/quarantine").size() == kEntries);
    CHECK(files_under(fixture.options.dir + "/cas").empty());
    for (int i = 0; i < kEntries; ++i) fixture.put_kernel(i, 200 + i);
    for (int i = 0; i < kEntries; ++i) REQUIRE(cache.find_kernel(material_of(i)));
    CHECK(cache.stats().quarantined == kEntries);
  }
}

TEST_CASE("a damaged plan, a damaged artifact of a plan, and a truncated one are misses") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  for (int i = 0; i < 3; ++i) {
    Digest digest = fixture.put_kernel(i);
    REQUIRE(cache.put_plan(plan_material_of(i), "plan " + std::to_string(i), {&digest, 1}).ok());
  }
  flip_one_bit(cache.artifact_path(sha256("plan 0")), 3);
  flip_one_bit(cache.artifact_path(sha256(artifact_of(1))), 99);
  spill(cache.artifact_path(sha256(artifact_of(2))), artifact_of(2).substr(0, 2999));
  for (int i = 0; i < 3; ++i) CHECK(!cache.find_plan(plan_material_of(i)));
  CHECK(cache.find_kernel(material_of(0)));
  CHECK(!cache.find_kernel(material_of(1)));
  CHECK(absl::IsNotFound(read_artifact(cache, sha256(artifact_of(2))).status()));
  CHECK(cache.stats().quarantined == 3);
}

TEST_CASE("open_artifact never gives damaged bytes; a link in place of a file is not followed") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  Digest flipped = fixture.put_kernel(1), linked = fixture.put_kernel(2);
  flip_one_bit(cache.artifact_path(flipped), 5);
  CHECK(absl::IsDataLoss(read_artifact(cache, flipped).status()));
  CHECK(absl::IsNotFound(read_artifact(cache, flipped).status()));
  std::ofstream(fixture.dir / "elsewhere") << artifact_of(2);
  std::filesystem::remove(cache.artifact_path(linked));
  std::filesystem::create_symlink(fixture.dir / "elsewhere", cache.artifact_path(linked));
  CHECK(!cache.find_kernel(material_of(2)));
  CHECK(std::filesystem::exists(fixture.dir / "elsewhere"));
}

TEST_CASE("verify finds every damaged, missing and unreferenced file, and says so once") {
  CacheFixture fixture;
  fixture.open();
  for (int i = 0; i < 40; ++i) fixture.put_kernel(i);
  CHECK(fixture.cache->verify().checked == 40);
  CHECK(fixture.cache->verify().problems.empty());
  KernelsCache& cache = fixture.open();
  for (int i = 0; i < 10; ++i) flip_one_bit(cache.artifact_path(sha256(artifact_of(i))), i * 100u);
  for (int i = 10; i < 15; ++i) std::filesystem::remove(cache.artifact_path(sha256(artifact_of(i))));
  std::string orphan = cache.artifact_path(sha256("orphan"));
  std::filesystem::create_directories(std::filesystem::path(orphan).parent_path());
  std::ofstream(orphan) << "orphan";
  VerifyReport report = cache.verify();
  CHECK(report.checked == 40);
  CHECK(report.quarantined == 10);
  CHECK(report.problems.size() == 16);
  CHECK(!std::filesystem::exists(orphan));
  CHECK(cache.stats().entries == 25);
  VerifyReport again = cache.verify();
  CHECK(again.checked == 25);
  CHECK(again.problems.empty());
  for (int i = 15; i < 40; ++i) CHECK(cache.find_kernel(material_of(i)));
}

TEST_CASE("index rows with flipped bits are misses; verify drops them") {
  CacheFixture fixture;
  fixture.open();
  for (int i = 0; i < 4; ++i) fixture.put_kernel(i);
  fixture.cache.reset();
  sqlite3* index = nullptr;
  REQUIRE(sqlite3_open((fixture.options.dir + "/index.sqlite").c_str(), &index) == SQLITE_OK);
  // Another entry's result, a changed material, a changed kind.
  const char* damage =
      "UPDATE actions SET result = (SELECT result FROM actions WHERE id = 4) WHERE id = 1;"
      "UPDATE actions SET material = substr(material, 1, length(material) - 1) || x'00' WHERE id = 2;"
      "UPDATE actions SET kind = 1 WHERE id = 3;";
  REQUIRE(sqlite3_exec(index, damage, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(index);
  KernelsCache& cache = fixture.open();
  for (int i = 0; i < 3; ++i) CHECK(!cache.find_kernel(material_of(i)));
  CHECK(!cache.find_plan(material_of(2)));
  CHECK(cache.find_kernel(material_of(3)));
  CHECK(cache.verify().problems.size() == 3);
  CHECK(cache.stats().entries == 1);
  for (int i = 0; i < 3; ++i) fixture.put_kernel(i);
  for (int i = 0; i < 4; ++i) CHECK(cache.find_kernel(material_of(i)));
}

TEST_CASE("an index destroyed while the cache is open is rebuilt; finds miss and puts work again") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  for (int i = 0; i < 50; ++i) fixture.put_kernel(i);
  std::optional<ArtifactEntry> held = cache.find_kernel(material_of(7));
  REQUIRE(held);
  // Same inodes, other bytes: what a bad disk or a stray write does.
  for (const char* suffix : {"", "-wal"}) {
    std::string path = fixture.options.dir + "/index.sqlite" + suffix;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << artifact_of(1, std::filesystem::file_size(path));
  }
  bool stored = false;
  for (int attempt = 0; attempt < 3 && !stored; ++attempt) {
    stored = cache.put_kernel(material_of(100), artifact_of(100)).ok() && cache.find_kernel(material_of(100));
  }
  CHECK(stored);
  CHECK(slurp(cache.artifact_path(held->digest)) == artifact_of(7));  // a leased file stays whatever happens
  for (int i = 0; i < 50; ++i) fixture.put_kernel(i);
  for (int i = 0; i < 50; ++i) CHECK(cache.find_kernel(material_of(i)));
  CHECK(!cache.health().degraded);
  held.reset();
  CHECK(cache.verify().problems.empty());
}

TEST_CASE("garbage in every place of the index never crashes a cache and never gives wrong bytes") {
  CacheFixture fixture;
  fixture.open();
  for (int i = 0; i < 20; ++i) fixture.put_kernel(i);
  fixture.cache.reset();
  std::string index = fixture.options.dir + "/index.sqlite", good = slurp(index);
  std::filesystem::path saved = fixture.dir / "saved";
  std::filesystem::copy(fixture.options.dir, saved, std::filesystem::copy_options::recursive);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    std::filesystem::remove_all(fixture.options.dir);
    std::filesystem::copy(saved, fixture.options.dir, std::filesystem::copy_options::recursive);
    std::filesystem::permissions(fixture.options.dir, std::filesystem::perms::owner_all);
    std::string bad = good;
    std::size_t at = (round * 7919u * 131u) % bad.size(),
                length = std::min<std::size_t>(1u << (round % 12), bad.size() - at);
    bad.replace(at, length, artifact_of(round, length));
    spill(index, bad);
    KernelsCache& cache = fixture.open();
    for (int i = 0; i < 20; ++i) {
      std::optional<ArtifactEntry> hit = cache.find_kernel(material_of(i));
      if (hit) REQUIRE(hit->digest == sha256(artifact_of(i)));
    }
    cache.list();
    cache.verify();
    bool stored = false;
    for (int attempt = 0; attempt < 3 && !stored; ++attempt) {
      stored = cache.put_kernel(material_of(100), artifact_of(100)).ok();
    }
    REQUIRE(stored);
    REQUIRE(cache.find_kernel(material_of(100)));
    fixture.cache.reset();
  }
}
