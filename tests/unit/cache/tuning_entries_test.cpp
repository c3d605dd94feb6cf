// Tuning records in the cache: put, replaced, found after a restart, damaged, evicted, beside plans and kernels.
#include "tests/unit/cache/cache_fixture.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

KeyMaterial tuning_of(int number) { return material_of(number, "hearth.tuning.test"); }

std::vector<std::string> records(KernelsCache& cache) {
  std::vector<std::string> found;
  for (const TuningEntry& entry : cache.tuning_records(100)) found.push_back(entry.record);
  return found;
}

}  // namespace

TEST_CASE("tuning records: newest first, one a key, after a restart too") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  CHECK(records(cache).empty());
  REQUIRE(cache.put_tuning(tuning_of(1), "first").ok());
  REQUIRE(cache.put_tuning(tuning_of(2), "second").ok());
  fixture.put_kernel(3);
  CHECK(records(cache) == std::vector<std::string>{"second", "first"});
  REQUIRE(cache.put_tuning(tuning_of(1), "better").ok());
  CHECK(records(cache) == std::vector<std::string>{"better", "second"});
  CHECK(cache.tuning_records(1).size() == 1);
  CHECK(cache.tuning_records(100)[0].material.encode() == tuning_of(1).encode());
  CHECK(!cache.find_kernel(tuning_of(1)));  // another kind under the same key
  CHECK(!cache.find_plan(tuning_of(1)));

  KernelsCache& reopened = fixture.open();
  CHECK(records(reopened) == std::vector<std::string>{"better", "second"});
  int tuning = 0;
  for (const CacheEntryInfo& entry : reopened.list()) tuning += entry.kind == EntryKind::kTuning;
  CHECK(tuning == 2);
  reopened.drop_tuning(tuning_of(2));
  CHECK(records(reopened) == std::vector<std::string>{"better"});
  CHECK(fixture.warnings.empty());
}

TEST_CASE("tuning records: a flipped byte, a missing file and a damaged row lose one record each") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  for (int i = 1; i <= 3; ++i) REQUIRE(cache.put_tuning(tuning_of(i), "record " + std::to_string(i)).ok());
  const std::string damaged = cache.artifact_path(sha256("record 1")),
                    missing = cache.artifact_path(sha256("record 2"));
  fixture.cache.reset();
  spill(damaged, "Record 1");
  std::filesystem::remove(missing);
  KernelsCache& reopened = fixture.open();
  CHECK(records(reopened) == std::vector<std::string>{"record 3"});
  CHECK(reopened.stats().quarantined == 1);
  CHECK(reopened.stats().entries == 1);
  CHECK(fixture.warnings.size() == 1);
  CHECK(reopened.verify().problems.empty());
}

TEST_CASE("tuning records: a key that is damaged in one place of the index is never listed twice") {
  const Digest digest = sha256(tuning_of(1).encode());
  const std::string key(reinterpret_cast<const char*>(digest.data()), digest.size());
  std::size_t places = 0;
  for (bool verified : {false, true}) {
    for (std::size_t skipped = 0;; ++skipped) {
      CacheFixture fixture;
      REQUIRE(fixture.open().put_tuning(tuning_of(1), "a record").ok());
      fixture.cache.reset();
      const std::string index = fixture.options.dir + "/index.sqlite";
      std::string bytes = slurp(index);
      std::size_t at = bytes.find(key);
      for (std::size_t i = 0; i < skipped && at != std::string::npos; ++i) at = bytes.find(key, at + 1);
      if (at == std::string::npos) break;
      ++places;
      bytes[at] ^= 1;
      spill(index, bytes);
      KernelsCache& cache = fixture.open();
      if (verified) cache.verify();
      INFO("place " << skipped << ", verified " << verified);
      CHECK(records(cache).size() <= 1);
      absl::Status stored = cache.put_tuning(tuning_of(1), "a record").status();
      if (absl::IsUnavailable(stored)) stored = cache.put_tuning(tuning_of(1), "a record").status();
      CHECK(stored == absl::OkStatus());
      CHECK(records(cache) == std::vector<std::string>{"a record"});
      if (verified) CHECK(cache.stats().entries == 1);
    }
  }
  CHECK(places >= 4);
}

TEST_CASE("tuning records: held ones stay when the cache is full or cleared, others go") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 64 << 10;
  KernelsCache& cache = fixture.open();
  {
    absl::StatusOr<Pin> held = cache.put_tuning(tuning_of(1), "held");
    REQUIRE(held.ok());
    REQUIRE(cache.put_tuning(tuning_of(2), "free").ok());
    for (int i = 10; i < 60; ++i) fixture.put_kernel(i);
    CHECK(records(cache) == std::vector<std::string>{"held"});
    CHECK(cache.clear().kept_leased == 1);
    CHECK(records(cache) == std::vector<std::string>{"held"});
  }
  cache.clear();
  CHECK(records(cache).empty());
}

TEST_CASE("tuning records: clear leaves them where they are to be kept, held or not") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_tuning(tuning_of(1), "first").ok());
  absl::StatusOr<Pin> held = cache.put_tuning(tuning_of(2), "second");
  for (int i = 10; i < 15; ++i) fixture.put_kernel(i);
  const ClearReport report = cache.clear(/*keep_tuning=*/true);
  CHECK((report.removed == 5 && report.kept_tuning == 2 && report.kept_leased == 0));
  CHECK(records(cache).size() == 2);
  CHECK(cache.stats().entries == 2);
  const ClearReport all = cache.clear();
  CHECK((all.removed == 1 && all.kept_tuning == 0 && all.kept_leased == 1));
}
