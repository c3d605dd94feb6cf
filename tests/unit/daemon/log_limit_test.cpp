#include "daemon/log_limit.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {

TEST_CASE("log limit: one line a minute and key, which tells how often it happened") {
  using namespace std::chrono_literals;
  LogLimit limit;
  const auto now = Clock::machine().now();
  CHECK(limit.count(7, now) == 1);
  for (int i = 0; i < 500'000; ++i) CHECK_FALSE(limit.count(7, now + 1s));
  CHECK(limit.count(8, now + 1s) == 1);
  CHECK(limit.count(7, now + 61s) == 500'001);
  CHECK(limit.total() == 500'003);
}

TEST_CASE("log limit: more keys than are kept write no more lines than keys") {
  LogLimit limit;
  const auto now = Clock::machine().now();
  std::size_t lines = 0;
  for (std::uint64_t key = 0; key < 100'000; ++key) lines += limit.count(key, now).has_value();
  CHECK(lines == LogLimit::kMaxKeys);
  CHECK(limit.count(5'000'000, now + std::chrono::minutes(2)) == 1);  // room again
}

}  // namespace hearth::daemon
