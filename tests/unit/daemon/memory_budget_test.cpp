#include "daemon/serve/memory_budget.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>
#include <vector>

namespace hearth::daemon {
namespace {

constexpr ClientId kAnna{1000, 1}, kBert{1000, 2}, kCarl{1000, 3};

TEST_CASE("memory budget: charges beyond it wait until others are given back") {
  Executor executor(1);
  MemoryBudget budget({100, 100}, &executor);
  std::atomic<int> told{0};
  auto first = budget.take(kAnna, 60, [] {});
  CHECK(first.has_room());
  auto second = budget.take(kBert, 60, [&told] { ++told; });
  CHECK_FALSE(second.has_room());
  CHECK_FALSE(budget.try_take(kCarl, 60).has_room());
  CHECK((budget.usage().bytes == 60 && budget.usage().waiting == 1));
  first = {};
  executor.stop();
  CHECK(second.has_room());
  CHECK(told == 1);
  second = {};
  CHECK((budget.usage().bytes == 0 && budget.usage().holders == 0));
}

TEST_CASE("memory budget: clients take turns, however many one of them has waiting") {
  Executor executor(1);
  MemoryBudget budget({100, 100}, &executor);
  std::vector<int> order;
  auto held = std::make_optional(budget.take(kCarl, 100, [] {}));
  std::vector<MemoryBudget::Charge> annas;
  for (int i = 0; i < 50; ++i) annas.push_back(budget.take(kAnna, 100, [&order, i] { order.push_back(i); }));
  auto berts = budget.take(kBert, 100, [&order] { order.push_back(1000); });
  held.reset();   // Anna's first
  annas[0] = {};  // then Bert
  berts = {};
  annas[1] = {};
  executor.stop();
  CHECK(order == std::vector<int>{0, 1000, 1, 2});
}

TEST_CASE("memory budget: one client has its part, the others find room") {
  Executor executor(1);
  MemoryBudget budget({100, 30}, &executor);
  std::vector<MemoryBudget::Charge> annas;
  for (int i = 0; i < 10; ++i) annas.push_back(budget.take(kAnna, 10, [] {}));
  CHECK(budget.usage().bytes == 30);
  CHECK(budget.usage().waiting == 7);
  CHECK(budget.take(kBert, 30, [] {}).has_room());
  CHECK(budget.try_take(kBert, 60).has_room());  // more than its part, but it has nothing else
  annas.pop_back();                              // leaves the line
  CHECK(budget.usage().waiting == 6);
  annas.clear();
  CHECK((budget.usage().bytes == 0 && budget.usage().waiting == 0));
}

TEST_CASE("memory budget: who is not read is cancelled, sooner when others wait") {
  using namespace std::chrono_literals;
  Executor executor(1);
  MemoryBudget budget({100, 100}, &executor);
  int cancelled = 0;
  const auto cancel = [&cancelled] { ++cancelled; };
  auto held = budget.take(kAnna, 100, [] {}, cancel);
  const auto now = Clock::machine().now();
  budget.cancel_stalled(now + 29s);
  CHECK(cancelled == 0);
  {
    auto waits = budget.take(kBert, 10, [] {}, cancel);
    budget.cancel_stalled(now + 500ms);
    CHECK(cancelled == 0);
    budget.cancel_stalled(now + 2s);
    CHECK(cancelled == 1);
    budget.cancel_stalled(now + 3s);  // once
    CHECK(cancelled == 1);
  }
  held = {};
  auto other = budget.take(kAnna, 100, [] {}, cancel);
  budget.cancel_stalled(now + 40s);
  CHECK(cancelled == 2);
}

TEST_CASE("memory budget: nothing is lost count of when charges come and go on many threads") {
  Executor executor(2);
  MemoryBudget budget({1000, 400}, &executor);
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (pid_t pid = 0; pid < 4; ++pid) {
    threads.emplace_back([&, pid] {
      for (int i = 0; i < 500; ++i) {
        auto charge = budget.take({1000, pid}, 100 + static_cast<std::uint64_t>(i % 7) * 50, [] {});
        if (i % 5 == 0) continue;  // leaves
        while (!charge.has_room()) std::this_thread::yield();
        ++served;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(served == 4 * 400);
  CHECK((budget.usage().bytes == 0 && budget.usage().waiting == 0 && budget.usage().holders == 0));
}

}  // namespace
}  // namespace hearth::daemon
