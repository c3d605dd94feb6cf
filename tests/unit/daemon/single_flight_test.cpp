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

TEST_CASE("single flight: the work is told who else waits for it") {
  Flights flights;
  std::shared_ptr<Flights::Flight> flight;
  const auto start = [&](std::shared_ptr<Flights::Flight> started) { flight = std::move(started); };
  const auto waiter = [](const ClientId& client) {
    return Flights::Waiter{.done = [](const Flights::Outcome&, bool) {}, .client = client};
  };
  std::vector<ClientId> told;
  auto first = flights.join(Digest{1}, waiter({1, 0}), start);
  auto early = flights.join(Digest{1}, waiter({2, 0}), start);
  flight->on_join([&](const ClientId& client) { told.push_back(client); });
  CHECK(told == std::vector<ClientId>{{2, 0}});
  auto late = flights.join(Digest{1}, waiter({3, 0}), start);
  auto again = flights.join(Digest{1}, waiter({2, 0}), start);
  flight->share({4, 0});  // waits elsewhere
  CHECK(told == std::vector<ClientId>{{2, 0}, {3, 0}, {4, 0}});
  std::vector<Flights::Ticket> storm;
  for (pid_t pid = 1; pid <= 100; ++pid) storm.push_back(flights.join(Digest{1}, waiter({5, pid}), start));
  CHECK(told.size() == 7);  // a few of one user's processes
  flight->complete(std::make_shared<const int>(7));
  flight->share({6, 0});
  CHECK(told.size() == 7);
}

TEST_CASE("single flight: an error of another user's work is not told, the work is done again") {
  Flights flights;
  std::shared_ptr<Flights::Flight> flight, again;
  int starts_again = 0;
  const auto start = [&](std::shared_ptr<Flights::Flight> started) { flight = std::move(started); };
  const auto waiter = [&](Seen& seen, uid_t user) {
    Flights::Waiter waiter = seen.waiter();
    waiter.client = {user, 0};
    waiter.again = [&](std::shared_ptr<Flights::Flight> started) {
      ++starts_again;
      again = std::move(started);
    };
    return waiter;
  };
  Seen first, same_user, other, beside, left;
  auto first_ticket = flights.join(Digest{1}, waiter(first, 1), start);
  auto same_ticket = flights.join(Digest{1}, waiter(same_user, 1), start);
  auto other_ticket = flights.join(Digest{1}, waiter(other, 2), start);
  auto beside_ticket = flights.join(Digest{1}, waiter(beside, 2), start);
  auto left_ticket = flights.join(Digest{1}, waiter(left, 2), start);
  SECTION("an error of the work itself is everybody's") {
    flight->complete(absl::InvalidArgumentError("node 2 (ADD): has shape"));
    CHECK(starts_again == 0);
    for (const Seen* seen : {&first, &same_user, &other, &beside, &left}) CHECK(absl::IsInvalidArgument(seen->status));
    return;
  }
  flight->complete(absl::ResourceExhaustedError("128 graphs of user 1 wait"));
  CHECK(absl::IsResourceExhausted(first.status));
  CHECK(absl::IsResourceExhausted(same_user.status));
  CHECK(starts_again == 1);  // once a user
  CHECK(other.done + beside.done + left.done == 0);
  left_ticket.leave();
  SECTION("with a result") {
    again->complete(std::make_shared<const int>(42));
    CHECK((other.value == 42 && beside.value == 42 && left.done == 0));
    CHECK((other.first && !beside.first));
  }
  SECTION("with an error, which is its user's own now") {
    again->complete(absl::InternalError("crashed"));
    CHECK(starts_again == 1);
    CHECK(absl::IsInternal(other.status));
  }
  SECTION("all leave") {
    int cancelled = 0;
    again->on_cancel([&] { ++cancelled; });
    other_ticket.leave();
    CHECK(cancelled == 0);
    beside_ticket.leave();
    CHECK(cancelled == 1);
  }
}

}  // namespace
}  // namespace hearth::daemon
