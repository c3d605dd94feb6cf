#include "daemon/async/single_flight.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace hearth::daemon {
namespace {

using Flights = SingleFlight<int, int>;

struct Seen {
  int done = 0;
  bool first = false;
  absl::Status status;
  int value = 0;
  Flights::Waiter waiter() {
    return {[this](const Flights::Outcome& outcome, bool is_first) {
              ++done;
              first = is_first;
              status = outcome.status();
              if (outcome.ok()) value = **outcome;
            },
            nullptr};
  }
};

TEST_CASE("single flight: one piece of work for all who wait") {
  Flights flights;
  std::shared_ptr<Flights::Flight> flight;
  int starts = 0;
  const auto start = [&](std::shared_ptr<Flights::Flight> started) {
    ++starts;
    flight = std::move(started);
  };
  Seen a, b, other;
  auto ticket_a = flights.join(Digest{1}, a.waiter(), start);
  auto ticket_b = flights.join(Digest{1}, b.waiter(), start);
  CHECK(starts == 1);
  auto ticket_other = flights.join(Digest{2}, other.waiter(),
                                   [](auto other_flight) { other_flight->complete(absl::AbortedError("x")); });
  CHECK(absl::IsAborted(other.status));
  flight->complete(std::make_shared<const int>(42));
  flight->complete(std::make_shared<const int>(43));  // ignored
  CHECK((a.done == 1 && b.done == 1));
  CHECK((a.value == 42 && b.value == 42));
  CHECK((a.first && !b.first));
  CHECK(flights.size() == 0);
}

TEST_CASE("single flight: who joins is told how far it is") {
  Flights flights;
  std::shared_ptr<Flights::Flight> flight;
  const auto start = [&](std::shared_ptr<Flights::Flight> started) { flight = std::move(started); };
  const auto listener = [](std::vector<int>& told) {
    return Flights::Waiter{[](const Flights::Outcome&, bool) {},
                           [&told](const int& progress) { told.push_back(progress); }};
  };
  std::vector<int> first, early, late;
  const auto ticket = flights.join(Digest{1}, listener(first), start);
  const auto early_ticket = flights.join(Digest{1}, listener(early), start);
  flight->report(1);
  flight->report(2);
  const auto late_ticket = flights.join(Digest{1}, listener(late), start);
  flight->report(3);
  CHECK(first == std::vector<int>{1, 2, 3});
  CHECK(early == first);
  CHECK(late == std::vector<int>{2, 3});
  flight->complete(std::make_shared<const int>(7));
}

TEST_CASE("single flight: the first caller's leaving harms nobody, the last one's cancels") {
  Flights flights;
  std::shared_ptr<Flights::Flight> flight;
  int cancelled = 0;
  const auto start = [&](std::shared_ptr<Flights::Flight> started) {
    flight = std::move(started);
    flight->on_cancel([&] { ++cancelled; });
  };
  Seen a, b, late;
  auto ticket_a = flights.join(Digest{1}, a.waiter(), start);
  auto ticket_b = flights.join(Digest{1}, b.waiter(), start);
  ticket_a.leave();
  CHECK(cancelled == 0);
  SECTION("the others get the result") {
    flight->complete(std::make_shared<const int>(1));
    CHECK((a.done == 0 && b.done == 1 && !b.first));
    ticket_b.leave();
    CHECK(cancelled == 0);
  }
  SECTION("the last one leaves") {
    ticket_b.leave();
    CHECK((cancelled == 1 && flight->cancelled()));
    auto ticket_late = flights.join(Digest{1}, late.waiter(), start);  // a fresh flight
    flight->complete(std::make_shared<const int>(2));
    CHECK((late.done == 1 && late.first && b.done == 0));
  }
  SECTION("a cancel that is registered late runs at once") {
    ticket_b.leave();
    flight->on_cancel([&] { cancelled += 10; });
    CHECK(cancelled == 11);
  }
}

TEST_CASE("single flight: joining, leaving and completing race without loss") {
  Flights flights;
  std::atomic<int> starts{0}, done{0}, left{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        std::atomic<bool> answered{false};
        std::thread worker;
        {
          auto ticket = flights.join(Digest{static_cast<std::uint8_t>(i % 3)},
                                     {[&](const Flights::Outcome&, bool) { answered = true; }, nullptr},
                                     [&](std::shared_ptr<Flights::Flight> flight) {
                                       ++starts;
                                       flight->complete(std::make_shared<const int>(t));
                                     });
          while (!answered) std::this_thread::yield();
        }
        answered ? ++done : ++left;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 8 * 500);
  CHECK((starts >= 3 && starts <= 8 * 500));
  CHECK(flights.size() == 0);
}

}  // namespace
}  // namespace hearth::daemon
