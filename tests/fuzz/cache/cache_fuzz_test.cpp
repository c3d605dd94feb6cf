// A cache whose files are mutants: every find is a miss or gives the very bytes that were put, and what is put again is
// found again. Half of the mutants are from fixed seeds, half from fresh ones.
#include <iostream>

#include "tests/fuzz/bytes/mutate.h"
#include "tests/support/fresh_seed.h"
#include "tests/unit/cache/cache_fixture.h"
#include "tests/unit/cache/fault_file_system.h"

namespace hearth::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace hearth::cache;
using namespace hearth::cache::testing;

constexpr int kKernels = 4;

// A plan of all kernels, a tuning record, a blob and its records; the status of the first put that fails.
absl::Status put_all(KernelsCache& cache) {
  std::vector<Digest> digests;
  for (int i = 0; i < kKernels; ++i) {
    const auto kernel = cache.put_kernel(material_of(i), artifact_of(i));
    if (!kernel.ok()) return kernel.status();
    digests.push_back(kernel->digest);
  }
  const auto plan = cache.put_plan(plan_material_of(1), "the plan", digests);
  if (!plan.ok()) return plan.status();
  const auto tuning = cache.put_tuning(material_of(1, "hearth.tuning.test"), "a record");
  if (!tuning.ok()) return tuning.status();
  const auto blob = cache.put_blob(material_of(1, "hearth.blob.test"), artifact_of(50));
  if (!blob.ok()) return blob.status();
  return cache.put_records(material_of(1, "hearth.blob_request.test"), "records");
}

// How many of put_all's entries are found; each is what was put.
int find_all(KernelsCache& cache) {
  int found = 0;
  for (int i = 0; i < kKernels; ++i) {
    const auto kernel = cache.find_kernel(material_of(i));
    if (!kernel) continue;
    ++found;
    const auto bytes = read_artifact(cache, kernel->digest);
    REQUIRE(bytes.ok());
    CHECK(*bytes == artifact_of(i));
  }
  if (const auto plan = cache.find_plan(plan_material_of(1))) {
    ++found;
    CHECK(*plan->plan == "the plan");
    REQUIRE(plan->artifacts.size() == kKernels);
    for (int i = 0; i < kKernels; ++i) CHECK(plan->artifacts[i].digest == sha256(artifact_of(i)));
  }
  for (const TuningEntry& entry : cache.tuning_records(10)) {
    ++found;
    CHECK(entry.record == "a record");
  }
  if (const auto blob = cache.find_blob(material_of(1, "hearth.blob.test"))) {
    ++found;
    CHECK(blob->digest == sha256(artifact_of(50)));
  }
  if (const auto records = cache.find_records(material_of(1, "hearth.blob_request.test"))) {
    ++found;
    CHECK(*records == "records");
  }
  return found;
}

// One file of the folder changed, added, removed or exchanged with another one.
void spoil(const std::string& dir, Random& random) {
  std::vector<std::string> files;
  for (const std::string& file : files_under(dir)) {
    if (!file.ends_with("/lock")) files.push_back(file);
  }
  // The index is one file among many, and the one with most to damage.
  const std::string file = random.one_in(2) ? dir + "/index.sqlite" : random.pick(files);
  switch (random.in(0, 7)) {
    case 0:
      fs::remove(file);
      return;
    case 1:
      spill(dir + "/tmp/" + std::to_string(random.next()) + (random.one_in(2) ? ".intent" : ".tmp"), odd_text(random));
      return;
    case 2:
      spill(dir + "/index.sqlite-wal", mutated_bytes(slurp(dir + "/index.sqlite"), random));
      return;
    case 3:
      spill(file, slurp(random.pick(files)));
      return;
    default:
      spill(file, mutated_bytes(slurp(file), random));
  }
}

TEST_CASE("whatever happened to its files, a cache gives what was put or a miss, and takes it again") {
  FaultFileSystem file_system;
  file_system.skip_syncs();
  CacheFixture sound;
  sound.options.file_system = &file_system;
  REQUIRE(put_all(sound.open()).ok());
  CHECK(find_all(*sound.cache) == kKernels + 4);
  sound.cache.reset();
  int mutants = 0, harmless = 0, put_again = 0;
  const auto check = [&](std::uint64_t seed) {
    INFO("HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=" << seed);
    Random random(seed);
    CacheFixture spoiled;
    spoiled.options.file_system = &file_system;
    fs::copy(sound.options.dir, spoiled.options.dir, fs::copy_options::recursive);
    for (std::int64_t changes = random.in(1, 3); changes > 0; --changes) spoil(spoiled.options.dir, random);
    ++mutants;
    KernelsCache& cache = spoiled.open();
    harmless += find_all(cache) == kKernels + 4 ? 1 : 0;
    cache.list();
    cache.explain_miss(material_of(99));
    cache.verify();
    // A put that is the first to meet damage of the index fails; the index is empty and sound from then on.
    absl::Status stored = put_all(cache);
    if (absl::IsUnavailable(stored)) {
      ++put_again;
      stored = put_all(cache);
    }
    INFO(stored);
    REQUIRE(stored.ok());
    CHECK(find_all(cache) == kKernels + 4);
    CHECK(cache.verify().problems.empty());
  };
  constexpr std::uint64_t kCount = 75;
  for (std::uint64_t seed = 1; seed <= kCount; ++seed) check(seed);
  const std::uint64_t fresh = test::fresh_seed();
  for (std::uint64_t seed = fresh; seed < fresh + test::fresh_count(kCount); ++seed) check(seed);
  std::cout << "cache fuzz: " << mutants << " spoiled caches, " << harmless << " found everything all the same, "
            << put_again << " took it the second time" << std::endl;
  CHECK(harmless < mutants / 2);
}

}  // namespace
}  // namespace hearth::fuzz
