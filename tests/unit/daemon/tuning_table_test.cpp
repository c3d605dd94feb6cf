// Tuning records in the daemon: kept over restarts, by what they hold for, damaged ones ignored.
#include "daemon/store/tuning_table.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/unit/daemon/test_folder.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

v1::FlatKernel flat(const std::string& name) {
  v1::FlatKernel kernel;
  kernel.set_ast("(flat " + name + ")");
  kernel.add_slots()->set_constant_shape(true);
  return kernel;
}

v1::TuningRecord record(char kernel, std::int64_t amount, double tuned_ns = 5) {
  v1::TuningRecord result;
  result.set_kernel(std::string(32, kernel));
  v1::Opt& opt = *result.add_opts();
  opt.set_kind(v1::Opt::UNROLL);
  opt.set_axis(1);
  opt.set_amount(amount);
  result.set_heuristic_ns(10);
  result.set_tuned_ns(tuned_ns);
  return result;
}

v1::CompileOptions plain() {
  v1::CompileOptions options;
  options.set_opt_level(2);
  return options;
}

struct TableFixture {
  TestFolder folder;
  std::unique_ptr<cache::KernelsCache> cache;
  std::unique_ptr<TuningTable> table;

  TableFixture() { restart(); }
  void restart(const std::string& build = "build") {
    table.reset();
    cache.reset();
    cache::Options options;
    options.dir = folder / "cache";
    options.on_warning = [](const std::string&) {};
    auto opened = cache::KernelsCache::open(options);
    REQUIRE(opened.ok());
    cache = *std::move(opened);
    table = std::make_unique<TuningTable>(cache.get(), build);
  }
  std::shared_ptr<const TuningSnapshot> now() { return table->snapshot(test_target(), plain()); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "cache/cas")) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }
};

}  // namespace

TEST_CASE("tuning table: records come back after a restart, for exactly what they were made for") {
  TableFixture fixture;
  CHECK(fixture.now()->digest.empty());
  REQUIRE(fixture.table->put(flat("a"), test_target(), plain(), record('a', 4)).ok());
  REQUIRE(fixture.table->put(flat("b"), test_target(), plain(), record('b', 8)).ok());
  const auto before = fixture.now();
  REQUIRE(before->records.size() == 2);
  CHECK(before->digest.size() == 32);

  fixture.restart();
  const auto after = fixture.now();
  CHECK(after->digest == before->digest);
  REQUIRE(after->records.size() == 2);
  CHECK(after->records.Get(0).kernel() == std::string(32, 'a'));
  CHECK(after->records.Get(1).opts(0).amount() == 8);
  CHECK(fixture.cache->stats().pinned == 2);  // what every lowering reads is not evicted

  v1::Target threads = test_target();
  threads.set_threads(7);
  CHECK(fixture.table->snapshot(threads, plain())->digest.empty());
  v1::CompileOptions fast = plain();
  fast.set_fast_math(true);
  CHECK(fixture.table->snapshot(test_target(), fast)->digest.empty());
  fixture.restart("another build");
  CHECK(fixture.now()->digest.empty());
  CHECK(fixture.cache->stats().pinned == 0);
}

TEST_CASE("tuning table: the digest is of the opts, not of times or of the order they came in") {
  TableFixture one, other;
  REQUIRE(one.table->put(flat("a"), test_target(), plain(), record('a', 4)).ok());
  REQUIRE(one.table->put(flat("b"), test_target(), plain(), record('b', 8)).ok());
  REQUIRE(other.table->put(flat("b"), test_target(), plain(), record('b', 8, 1)).ok());
  REQUIRE(other.table->put(flat("a"), test_target(), plain(), record('a', 4, 2)).ok());
  const std::string digest = one.now()->digest;
  CHECK(other.now()->digest == digest);
  const auto seen = one.now();
  REQUIRE(one.table->put(flat("a"), test_target(), plain(), record('a', 5)).ok());  // replaced
  CHECK(one.now()->records.size() == 2);
  CHECK(one.now()->digest != digest);
  CHECK(seen->digest == digest);  // a snapshot stays as it is
  one.restart();
  CHECK(one.now()->records.Get(0).opts(0).amount() == 5);
}

TEST_CASE("tuning table: a flipped byte in a record's file loses that record alone") {
  TableFixture fixture;
  REQUIRE(fixture.table->put(flat("a"), test_target(), plain(), record('a', 4)).ok());
  REQUIRE(fixture.table->put(flat("b"), test_target(), plain(), record('b', 8)).ok());
  const std::vector<fs::path> files = fixture.files();
  REQUIRE(files.size() == 2);
  std::string bytes(fs::file_size(files[0]), 0);
  std::ifstream(files[0], std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes[bytes.size() / 2] ^= 1;
  fs::remove(files[0]);
  std::ofstream(files[0], std::ios::binary) << bytes;
  fixture.restart();
  CHECK(fixture.now()->records.size() == 1);
  CHECK(fixture.cache->stats().quarantined == 1);
  fixture.restart();
  CHECK(fixture.now()->records.size() == 1);
}

TEST_CASE("tuning table: sound bytes that are no record are dropped") {
  TableFixture fixture;
  const cache::KeyMaterial material = cache::tuning_key_material(flat("a"), test_target(), plain(), "build");
  REQUIRE(fixture.cache->put_tuning(material, "\xff\xff no record").ok());
  CHECK(fixture.now()->digest.empty());
  CHECK(fixture.cache->stats().entries == 0);
}

TEST_CASE("tuning table: nothing is left after the cache was cleared") {
  TableFixture fixture;
  REQUIRE(fixture.table->put(flat("a"), test_target(), plain(), record('a', 4)).ok());
  fixture.table->forget();
  fixture.cache->clear();
  CHECK(fixture.now()->digest.empty());
  CHECK(fixture.files().empty());
}

}  // namespace hearth::daemon
