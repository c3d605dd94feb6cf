#include "daemon/worker_pool/poison_list.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

constexpr Clock::time_point kNow{std::chrono::hours(1)};

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
  CHECK(poison.record_death(key, "kernel 'k'", "request", now).empty());
  CHECK(poison.record_death(key, "kernel 'k'", "request", now).empty());
  CHECK(poison.check(key, now).ok());
  const std::string sentence = poison.record_death(key, "kernel 'k'", "request", now);
  const std::string path = folder / "repro/abcd000000000000.worker_request";
  CHECK(sentence.find("kernel 'k' killed 3 compiler workers") != std::string::npos);
  CHECK(sentence.find(path) != std::string::npos);
  CHECK(content(path) == "request");
  const absl::Status refused = poison.check(key, now + std::chrono::minutes(9));
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(std::string(refused.message()).find("60 s left") != std::string::npos);
  CHECK(poison.check(Digest{1}, now).ok());
  CHECK(poison.check(key, now + std::chrono::minutes(10)).ok());
  CHECK(poison.record_death(key, "kernel 'k'", "request", now).empty());  // counts from zero again
}

TEST_CASE("poison: a success forgets, an unwritable folder is named") {
  TestFolder folder;
  std::ofstream(folder / "file") << "x";
  PoisonList poison(folder / "file/repro", std::chrono::minutes(10));
  const Digest key{1};
  poison.record_death(key, "graph", "r", kNow);
  poison.record_death(key, "graph", "r", kNow);
  poison.record_success(key);
  CHECK(poison.record_death(key, "graph", "r", kNow).empty());
  poison.record_death(key, "graph", "r", kNow);
  CHECK(poison.record_death(key, "graph", "r", kNow).find("no repro bundle") != std::string::npos);
  CHECK_FALSE(poison.check(key, kNow).ok());
}

TEST_CASE("poison: the repro folder stays bounded") {
  TestFolder folder;
  PoisonList poison(folder.path(), std::chrono::minutes(10));
  for (int i = 0; i < 70; ++i) {
    for (int death = 0; death < 3; ++death) poison.record_death(Digest{static_cast<std::uint8_t>(i)}, "g", "r", kNow);
  }
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) count += entry.is_regular_file();
  CHECK(count == 64);
}

}  // namespace
}  // namespace hearth::daemon
