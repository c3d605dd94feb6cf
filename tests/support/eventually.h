// Waiting for what must come: minutes, so that only what never comes fails a test, and never a slow machine.
// HEARTH_TEST_SLOW=N makes it N times as long.
//
//   REQUIRE(test::eventually([&] { return daemon.stats().joined == 1; }));
//   CHECK(future.wait_for(test::give_up()) == std::future_status::ready);
#pragma once
#include <chrono>
#include <cstdlib>
#include <thread>

namespace hearth::test {

inline constexpr std::chrono::minutes kGiveUp(10);

inline std::chrono::seconds give_up() {
  const char* const slow = std::getenv("HEARTH_TEST_SLOW");
  const long times = slow == nullptr ? 1 : std::strtol(slow, nullptr, 10);
  return std::chrono::seconds(kGiveUp) * (times < 1 ? 1 : times);
}

// Looks at `holds()` every millisecond until it is true; false after give_up().
template <typename Holds>
bool eventually(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + give_up();
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace hearth::test
