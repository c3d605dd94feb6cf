#include "daemon/worker_pool/poison_list.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

constexpr Clock::time_point kNow{std::chrono::hours(1)};
constexpr uid_t kOperator = 0, kUser = 61001, kOther = 61002;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST_CASE("poison: three deaths refuse a key for its time and leave a bundle") {
  TestFolder folder;
  PoisonList poison(folder / "repro", std::chrono::minutes(10));
  const Digest key{0xab, 0xcd};
  const auto now = Clock::machine().now();
  CHECK(!poison.record_death(key, kOperator, "kernel 'k'", "request", now));
  CHECK(!poison.record_death(key, kOperator, "kernel 'k'", "request", now));
  CHECK(poison.check(key, kOperator, now).ok());
  const auto refusal = poison.record_death(key, kOperator, "kernel 'k'", "request", now);
  REQUIRE(refusal);
  const std::string path = folder / "repro/abcd000000000000.worker_request";
  CHECK(refusal->sentence.find("kernel 'k' killed 3 compiler workers") != std::string::npos);
  CHECK(refusal->bundle.find(path) != std::string::npos);
  CHECK(content(path) == "request");
  const absl::Status refused = poison.check(key, kOperator, now + std::chrono::minutes(9));
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(std::string(refused.message()).find("60 s left") != std::string::npos);
  CHECK(poison.check(Digest{1}, kOperator, now).ok());
  CHECK(poison.check(key, kOperator, now + std::chrono::minutes(10)).ok());
  CHECK(!poison.record_death(key, kOperator, "kernel 'k'", "request", now));  // counts from zero again
}

TEST_CASE("poison: a success forgets, an unwritable folder is named") {
  TestFolder folder;
  std::ofstream(folder / "file") << "x";
  PoisonList poison(folder / "file/repro", std::chrono::minutes(10));
  const Digest key{1};
  poison.record_death(key, kOperator, "graph", "r", kNow);
  poison.record_death(key, kOperator, "graph", "r", kNow);
  poison.record_success(key, kOperator);
  CHECK_FALSE(poison.record_death(key, kOperator, "graph", "r", kNow));
  poison.record_death(key, kOperator, "graph", "r", kNow);
  const auto refusal = poison.record_death(key, kOperator, "graph", "r", kNow);
  REQUIRE(refusal);
  CHECK(refusal->bundle.find("no repro bundle") != std::string::npos);
  CHECK_FALSE(poison.check(key, kOperator, kNow).ok());
}

TEST_CASE("poison: one user's deaths refuse nobody else's request, the operator's everybody's") {
  TestFolder folder;
  PoisonList poison(folder / "repro", std::chrono::minutes(10));
  const Digest digest{3}, another{4};
  for (int death = 0; death < 3; ++death) poison.record_death(digest, kUser, "graph", "r", kNow);
  CHECK_FALSE(poison.check(digest, kUser, kNow).ok());
  CHECK(poison.check(digest, kOther, kNow).ok());
  CHECK(poison.check(digest, kOperator, kNow).ok());
  poison.record_success(digest, kOther);  // says nothing of the first user's
  CHECK_FALSE(poison.check(digest, kUser, kNow).ok());
  for (int death = 0; death < 3; ++death) poison.record_death(another, kOperator, "graph", "r", kNow);
  for (const uid_t user : {kUser, kOther, kOperator}) CHECK_FALSE(poison.check(another, user, kNow).ok());
}

TEST_CASE("poison: a user is not told where the bundle lies") {
  TestFolder folder;
  PoisonList poison(folder / "repro", std::chrono::minutes(10));
  for (const uid_t user : {kUser, kOperator}) {
    const Digest digest{5};
    for (int death = 0; death < 3; ++death) poison.record_death(digest, user, "graph", "r", kNow);
    const std::string told(poison.check(digest, user, kNow).message());
    CHECK(told.find("graph killed 3 compiler workers and is refused for 600 s") != std::string::npos);
    CHECK((told.find(folder.path()) != std::string::npos) == (user == kOperator));
    CHECK((told.find("bundle") != std::string::npos) == (user == kOperator));
  }
}

TEST_CASE("poison: the repro folder stays bounded") {
  TestFolder folder;
  PoisonList poison(folder.path(), std::chrono::minutes(10));
  for (int i = 0; i < 70; ++i) {
    for (int death = 0; death < 3; ++death)
      poison.record_death(Digest{static_cast<std::uint8_t>(i)}, kOperator, "g", "r", kNow);
  }
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) count += entry.is_regular_file();
  CHECK(count == 64);
}

}  // namespace
}  // namespace hearth::daemon
