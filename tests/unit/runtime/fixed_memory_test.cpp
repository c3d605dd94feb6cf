// Memory whose digest is computed once: until somebody registers it anew, or nobody holds it.
#include "base/fixed_memory.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST_CASE("fixed memory: what is registered is found by exactly its bytes, as long as it is held") {
  const std::string bytes(100, 'a');
  const std::string_view view = bytes;
  const auto owner = std::make_shared<const int>(1);
  auto held = FixedMemory::add(view, owner);
  CHECK(owner.use_count() == 2);
  CHECK(FixedMemory::find(view) == held);
  CHECK(FixedMemory::find(view)->digest() == sha256(view));
  CHECK(FixedMemory::find(view.substr(0, 50)) == nullptr);
  CHECK(FixedMemory::find(view.substr(1)) == nullptr);
  CHECK(FixedMemory::find({}) == nullptr);
  held = nullptr;
  CHECK(FixedMemory::find(view) == nullptr);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("fixed memory: after a write what is registered anew has the digest of the new bytes") {
  std::string bytes(100, 'a');
  const auto before = FixedMemory::add(bytes, nullptr);
  const Digest old = before->digest();
  bytes[7] = 'b';
  auto after = FixedMemory::add(bytes, nullptr);
  CHECK(FixedMemory::find(bytes) == after);
  CHECK(after->digest() == sha256(bytes));
  CHECK(before->digest() == old);
  after = nullptr;
  CHECK(FixedMemory::find(bytes) == nullptr);  // and not the older one
}

TEST_CASE("fixed memory: bytes that overlap what is registered take its place") {
  std::string bytes(100, 'a');
  const std::string_view all = bytes;
  for (const std::string_view part : {all.substr(0, 10), all.substr(90), all.substr(40, 20), all}) {
    const auto whole = FixedMemory::add(all, nullptr);
    const auto other = FixedMemory::add(part, nullptr);
    CHECK(FixedMemory::find(part) == other);
    CHECK((part.size() == all.size() || FixedMemory::find(all) == nullptr));
    const auto beside = FixedMemory::add(all.substr(60, 5), nullptr);
    CHECK(FixedMemory::find(all.substr(60, 5)) == beside);
  }
  CHECK(FixedMemory::find(all) == nullptr);
}

TEST_CASE("fixed memory: threads register, ask and let go beside each other") {
  const std::string bytes(4096, 'x');
  const Digest wanted = sha256(bytes);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&bytes, &wanted, &count] {
      for (int i = 0; i < 500; ++i) {
        const auto held = FixedMemory::add(bytes, nullptr);
        const auto found = FixedMemory::find(bytes);
        count += found != nullptr && found->digest() != wanted ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

}  // namespace
}  // namespace hearth
