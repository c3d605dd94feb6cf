// Whose entries a full cache gives up, and what it says of each user.
#include <catch2/catch.hpp>

#include "kernels_cache/sqlite_connection.h"
#include "tests/unit/cache/cache_fixture.h"

namespace hearth::cache {
namespace {

using namespace testing;

constexpr EntryOwner kAlice = 1001, kBob = 1002;
constexpr std::uint64_t kLimitBytes = 64 * 4096;  // of 62 kernels or so

struct Shared : CacheFixture {
  Shared() { options.limit_bytes = kLimitBytes; }
  Digest put(int number, EntryOwner owner) {
    absl::StatusOr<ArtifactEntry> entry = cache->put_kernel(material_of(number), artifact_of(number), owner);
    INFO(entry.status());
    REQUIRE(entry.ok());
    return entry->digest;
  }
  int found(int begin, int end) {
    int count = 0;
    for (int i = begin; i < end; ++i) count += cache->find_kernel(material_of(i)).has_value() ? 1 : 0;
    return count;
  }
  // What its accounts say is no more than what there is.
  void check_sums() const {
    const CacheStats stats = cache->stats();
    OwnerTotals all;
    for (const auto& [owner, totals] : stats.owners) {
      all.bytes += totals.bytes;
      all.entries += totals.entries;
    }
    CHECK(all.bytes <= stats.bytes);
    CHECK(all.entries <= stats.entries);
    CHECK(stats.bytes <= kLimitBytes);
  }
};

}  // namespace

TEST_CASE("a user who floods a full cache puts out entries of its own, not what others stored before") {
  Shared fixture;
  fixture.open();
  for (int i = 0; i < 10; ++i) fixture.put(i, kAlice);
  for (int i = 10; i < 20; ++i) fixture.put(i, kNoOwner);  // prewarmed by root
  for (int i = 100; i < 400; ++i) fixture.put(i, kBob);
  CHECK(fixture.found(0, 10) == 10);
  CHECK(fixture.found(10, 20) == 10);
  CHECK(fixture.found(390, 400) == 10);
  CHECK(fixture.found(100, 200) == 0);
  CHECK(fixture.cache->stats().owners.at(kAlice).entries == 10);
  CHECK(fixture.cache->stats().owners.at(kBob).entries < 60);
  fixture.check_sums();
}

TEST_CASE("what was made for a user is told from what was made for nobody in particular") {
  Shared fixture;
  fixture.open();
  const Digest of_alice = fixture.put(1, kAlice), of_nobody = fixture.put(2, kNoOwner);
  CHECK_FALSE(fixture.cache->is_ownerless(material_of(1), of_alice));
  CHECK(fixture.cache->is_ownerless(material_of(2), of_nobody));
  CHECK_FALSE(fixture.cache->is_ownerless(material_of(2), of_alice));  // not what lies under that key
  CHECK_FALSE(fixture.cache->is_ownerless(material_of(3), of_nobody));
  fixture.cache.reset();
  fixture.open();
  CHECK_FALSE(fixture.cache->is_ownerless(material_of(1), of_alice));
}

TEST_CASE("users who all want more than there is have about as much, each what it used last") {
  constexpr EntryOwner kCarol = 1003;
  Shared fixture;
  fixture.open();
  for (int i = 0; i < 40; ++i) fixture.put(i, kAlice);
  for (int i = 100; i < 140; ++i) fixture.put(i, kBob);
  for (int i = 200; i < 240; ++i) fixture.put(i, kCarol);
  for (const EntryOwner owner : {kAlice, kBob, kCarol}) {
    CHECK(fixture.cache->stats().owners.at(owner).entries > 15);
    CHECK(fixture.cache->stats().owners.at(owner).entries < 25);
  }
  CHECK((fixture.found(30, 40) == 10 && fixture.found(130, 140) == 10 && fixture.found(230, 240) == 10));
  fixture.check_sums();
}

TEST_CASE("below an equal share entries go by their last use, whosesoever they are") {
  Shared fixture;
  fixture.open();
  for (int i = 0; i < 10; ++i) fixture.put(i, kAlice);
  for (int i = 200; i < 400; ++i) fixture.put(i, kNoOwner);
  CHECK(fixture.found(0, 10) == 0);
  CHECK(fixture.cache->stats().owners.empty());
  fixture.check_sums();
}

TEST_CASE("a kernel that another user's plan needs stays when its maker's entry goes") {
  Shared fixture;
  KernelsCache& cache = fixture.open();
  const Digest shared = fixture.put(1, kBob);
  REQUIRE(cache.put_plan(plan_material_of(1), "a plan of Alice's", {&shared, 1}, kAlice).ok());
  for (int i = 100; i < 400; ++i) fixture.put(i, kBob);
  CHECK_FALSE(cache.find_kernel(material_of(1)).has_value());
  CHECK(cache.find_plan(plan_material_of(1)).has_value());
  CHECK(cache.open_artifact(shared).ok());
  fixture.check_sums();
}

TEST_CASE("what is in use stays, whoever floods") {
  Shared fixture;
  KernelsCache& cache = fixture.open();
  absl::StatusOr<ArtifactEntry> held = cache.put_kernel(material_of(1), artifact_of(1), kBob);
  REQUIRE(held.ok());
  for (int i = 100; i < 300; ++i) fixture.put(i, kBob);
  CHECK(cache.find_kernel(material_of(1)).has_value());
  fixture.check_sums();
}

TEST_CASE("accounts outlive the daemon, count material, and forget what a daemon without accounts removed") {
  Shared fixture;
  fixture.open();
  for (int i = 0; i < 5; ++i) fixture.put(i, kAlice);
  fixture.put(0, kAlice);  // again: counted once
  fixture.put(7, kBob);
  const OwnerTotals before = fixture.cache->stats().owners.at(kAlice);
  CHECK(before.entries == 5);
  CHECK(before.bytes > 5 * 4096);  // 3,000 bytes are a block; the rest is material
  fixture.open();
  CHECK(fixture.cache->stats().owners.at(kAlice).bytes == before.bytes);
  fixture.cache.reset();
  {
    auto index = SqliteConnection::open(fixture.options.dir + "/index.sqlite", /*read_only=*/false);
    REQUIRE(index.ok());
    REQUIRE((*index)->execute("DELETE FROM actions WHERE id = (SELECT min(id) FROM actions WHERE id > 1)").ok());
  }
  fixture.open();
  CHECK(fixture.cache->stats().owners.at(kAlice).entries == 4);
  fixture.cache->clear();
  CHECK(fixture.cache->stats().owners.empty());
  fixture.cache.reset();
  {
    auto index = SqliteConnection::open(fixture.options.dir + "/index.sqlite", /*read_only=*/false);
    REQUIRE(index.ok());
    REQUIRE((*index)->execute("DROP TABLE owners").ok());  // one that an older version made
  }
  fixture.open();
  fixture.put(1, kBob);
  CHECK(fixture.cache->stats().owners.at(kBob).entries == 1);
  CHECK(fixture.warnings.empty());
}

}  // namespace hearth::cache
