// Threads that put, find, evict, verify, clear and pin at once. Run under TSan by the tsan preset.
#include <atomic>
#include <thread>

#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

TEST_CASE("whatever threads do, a hit gives the right bytes and its file stays while pinned") {
  FaultFileSystem file_system;
  file_system.skip_syncs();
  CacheFixture fixture;
  fixture.options.file_system = &file_system;
  fixture.options.limit_bytes = 24 * 4096;
  KernelsCache& cache = fixture.open();
  std::atomic<int> hits{0}, wrong{0}, failed_puts{0};
  auto work = [&](int thread) {
    for (int i = 0; i < 150; ++i) {
      int number = (i * 7 + thread * 3) % 40;
      if (std::optional<PlanEntry> plan = cache.find_plan(plan_material_of(number))) {
        ++hits;
        if (*plan->plan != "plan" + std::to_string(number)) ++wrong;
        for (const ArtifactRef& artifact : plan->artifacts) {
          if (slurp(cache.artifact_path(artifact.digest)) != artifact_of(number)) ++wrong;
        }
        continue;
      }
      absl::StatusOr<ArtifactEntry> kernel = cache.put_kernel(material_of(number), artifact_of(number));
      if (!kernel.ok()) {
        ++failed_puts;
        continue;
      }
      if (slurp(cache.artifact_path(kernel->digest)) != artifact_of(number)) ++wrong;
      if (!cache.put_plan(plan_material_of(number), "plan" + std::to_string(number), {&kernel->digest, 1}).ok()) {
        ++failed_puts;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) threads.emplace_back(work, thread);
  threads.emplace_back([&] {
    for (int i = 0; i < 10; ++i) {
      VerifyReport report = cache.verify();
      if (report.quarantined != 0) ++wrong;
      cache.list();
      if (i % 4 == 3) cache.clear();
      cache.flush();
      cache.health();
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(failed_puts == 0);
  CHECK(hits > 0);
  CHECK(cache.stats().pinned == 0);
  CHECK(cache.stats().quarantined == 0);
  fixture.put_kernel(1000);
  CHECK(cache.stats().bytes <= fixture.options.limit_bytes);
  CHECK(files_under(fixture.options.dir + "/cas").size() == cache.stats().artifacts);
  CHECK(files_under(fixture.options.dir + "/tmp").empty());
}

TEST_CASE("sixteen threads that put one kernel at once all succeed") {
  CacheFixture fixture;
  KernelsCache& cache = fixture.open();
  std::atomic<int> ok{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      if (cache.put_kernel(material_of(1), artifact_of(1)).ok()) ++ok;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ok == 16);
  CHECK(cache.stats().entries == 1);
  CHECK(files_under(fixture.options.dir + "/cas").size() == 1);
  CHECK(files_under(fixture.options.dir + "/tmp").empty());
}
