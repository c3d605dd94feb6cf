// Plans in memory: what they save, and that they never outlive the files they stand for.
#include <catch2/catch.hpp>

#include "kernels_cache/recent_plans.h"
#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

namespace hearth::cache {
namespace {

using testing::artifact_of;
using testing::CacheFixture;
using testing::Call;
using testing::FaultFileSystem;
using testing::plan_material_of;

RecentPlans::Entry entry_of(const std::string& key, std::size_t plan_bytes) {
  RecentPlans::Entry entry;
  entry.row.key = sha256(key);
  entry.row.material = key;
  entry.plan = std::make_shared<const std::string>(plan_bytes, 'p');
  return entry;
}

}  // namespace

TEST_CASE("a plan found twice is read once") {
  FaultFileSystem files;
  CacheFixture fixture;
  fixture.options.file_system = &files;
  KernelsCache& cache = fixture.open();
  const std::vector<Digest> digests = {fixture.put_kernel(1), fixture.put_kernel(2)};
  REQUIRE(cache.put_plan(plan_material_of(1), "the plan", digests).ok());
  REQUIRE(cache.find_plan(plan_material_of(1)));
  const int reads = files.count(Call::kRead);
  for (int i = 0; i < 5; ++i) {
    const std::optional<PlanEntry> again = cache.find_plan(plan_material_of(1));
    REQUIRE(again);
    CHECK(*again->plan == "the plan");
    CHECK(again->artifacts.size() == 2);
    CHECK(cache.stats().pinned == 3);
  }
  CHECK(files.count(Call::kRead) == reads);
  CHECK(cache.stats().pinned == 0);
}

TEST_CASE("a plan in memory is a miss once its own file or an artifact has changed") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  const std::vector<Digest> digests = {fixture.put_kernel(1)};
  for (const Digest& damaged : {sha256("the plan"), digests[0]}) {
    REQUIRE(cache.put_kernel(testing::material_of(1), artifact_of(1)).ok());
    REQUIRE(cache.put_plan(plan_material_of(1), "the plan", digests).ok());
    REQUIRE(cache.find_plan(plan_material_of(1)));
    testing::spill(cache.artifact_path(damaged), "something else");
    CHECK(!cache.find_plan(plan_material_of(1)));
    CHECK(!cache.find_plan(plan_material_of(1)));
  }
  CHECK(cache.stats().quarantined == 2);
}

TEST_CASE("a plan in memory is gone after clear") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_plan(plan_material_of(1), "the plan", {}).ok());
  REQUIRE(cache.find_plan(plan_material_of(1)));
  CHECK(cache.clear().removed == 1);
  CHECK(!cache.find_plan(plan_material_of(1)));
}

TEST_CASE("a hit from memory counts as a use for eviction") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 20 * 4096;
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_plan(plan_material_of(1), "the plan", {}).ok());
  for (int i = 1; i <= 100; ++i) {
    REQUIRE(cache.find_plan(plan_material_of(1)));
    fixture.put_kernel(i);
  }
  CHECK(cache.stats().evicted > 50);
  CHECK(cache.find_plan(plan_material_of(1)));
}

TEST_CASE("recent plans: bounded, least recently used first, whole key compared, nothing added after a forget") {
  RecentPlans recent(1000);
  recent.add(entry_of("a", 400), recent.generation());
  recent.add(entry_of("b", 400), recent.generation());
  REQUIRE(recent.find(sha256("a"), "a"));
  CHECK(!recent.find(sha256("a"), "b"));  // a collision of keys
  recent.add(entry_of("c", 400), recent.generation());
  CHECK(recent.find(sha256("a"), "a"));
  CHECK(!recent.find(sha256("b"), "b"));
  CHECK(recent.find(sha256("c"), "c"));
  recent.add(entry_of("large", 1000), recent.generation());  // with its key it is over the limit
  CHECK(!recent.find(sha256("large"), "large"));
  CHECK(recent.find(sha256("c"), "c"));

  const std::uint64_t before = recent.generation();
  recent.forget(sha256("c"));
  CHECK(!recent.find(sha256("c"), "c"));
  recent.add(entry_of("c", 10), before);
  CHECK(!recent.find(sha256("c"), "c"));
}

}  // namespace hearth::cache
