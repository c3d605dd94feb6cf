// One owner per directory, and how a daemon that ends gives the directory to the one that follows.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/cache/cache_fixture.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

constexpr std::chrono::minutes kPatience{5};

Options successor_of(const CacheFixture& fixture) {
  Options options = fixture.options;
  options.lock_patience = kPatience;
  options.on_warning = [](const std::string&) {};
  return options;
}

}  // namespace

TEST_CASE("a deleted lock file does not let a second daemon own the cache") {
  CacheFixture fixture;
  fixture.open();
  std::filesystem::remove(fixture.options.dir + "/lock");
  CHECK(absl::IsFailedPrecondition(KernelsCache::open(successor_of(fixture)).status()));
}

TEST_CASE("an owner that does not leave is named at once, however patient the other is") {
  CacheFixture fixture;
  fixture.open();
  const absl::Status refused = KernelsCache::open(successor_of(fixture)).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(std::string(refused.message()).find("process " + std::to_string(::getpid())) != std::string::npos);
}

TEST_CASE("a leaving owner stores results until another daemon wants the directory") {
  CacheFixture fixture;
  KernelsCache& leaving = fixture.open();
  leaving.begin_leaving();
  CHECK_FALSE(leaving.hand_over_if_wanted());
  const Digest digest = fixture.put_kernel(1);

  std::unique_ptr<KernelsCache> next;
  std::thread successor([&] {
    auto opened = KernelsCache::open(successor_of(fixture));
    if (opened.ok()) next = *std::move(opened);
  });
  while (!leaving.hand_over_if_wanted()) std::this_thread::yield();
  successor.join();
  REQUIRE(next);
  CHECK(next->find_kernel(material_of(1)));

  // What the old owner still does changes nothing in the directory.
  const auto files = files_under(fixture.options.dir + "/cas");
  CHECK(absl::IsUnavailable(leaving.put_kernel(material_of(2), artifact_of(2)).status()));
  CHECK(files_under(fixture.options.dir + "/cas") == files);
  CHECK(leaving.clear().removed == 0);
  CHECK(files_under(fixture.options.dir + "/cas") == files);
  CHECK_FALSE(leaving.find_kernel(material_of(1)));
  CHECK(read_artifact(leaving, digest).value_or("") == artifact_of(1));
  CHECK(leaving.health().degraded);
  // A third daemon is refused by the new owner.
  CHECK(absl::IsFailedPrecondition(KernelsCache::open(successor_of(fixture)).status()));
  fixture.cache.reset();
  CHECK(next->find_kernel(material_of(1)));
  CHECK(next->put_kernel(material_of(3), artifact_of(3)).ok());
}

TEST_CASE("puts that run while the directory is handed over are stored whole or not at all") {
  CacheFixture fixture;
  KernelsCache& leaving = fixture.open();
  std::atomic<int> stored{0};
  std::thread writer([&] {
    for (int i = 0;; ++i) {
      if (!leaving.put_kernel(material_of(i), artifact_of(i)).ok()) break;
      stored = i + 1;
    }
  });
  while (stored < 5) std::this_thread::yield();
  leaving.begin_leaving();
  std::unique_ptr<KernelsCache> next;
  std::thread successor([&] { next = KernelsCache::open(successor_of(fixture)).value(); });
  while (!leaving.hand_over_if_wanted()) std::this_thread::yield();
  successor.join();
  writer.join();
  for (int i = 0; i < stored; ++i) CHECK(next->find_kernel(material_of(i)));
  CHECK_FALSE(next->find_kernel(material_of(stored)));
  const VerifyReport report = next->verify();
  CHECK(report.problems.empty());  // no file without an entry either
  CHECK(report.checked == static_cast<std::uint64_t>(stored));
}
