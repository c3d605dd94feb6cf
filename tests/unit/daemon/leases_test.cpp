#include "daemon/prepare/leases.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

TEST_CASE("leases: release, double release and a session's end let go") {
  Leases leases;
  auto held = std::make_shared<const int>(1);
  const std::uint64_t a = leases.open_session({1000, 1});
  const std::uint64_t b = leases.open_session({1000, 1});
  const std::uint64_t first = leases.add(a, held).value();
  REQUIRE(leases.add(a, held).ok());
  REQUIRE(leases.add(b, held).ok());
  CHECK((leases.num_sessions() == 2 && leases.num_leases() == 3 && held.use_count() == 4));
  leases.release(b, first);  // another session's lease is not b's to release
  CHECK(leases.num_leases() == 3);
  leases.release(a, first);
  leases.release(a, first);
  CHECK((leases.num_leases() == 2 && held.use_count() == 3));
  leases.close_session(a);
  leases.close_session(a);
  CHECK((leases.num_sessions() == 1 && held.use_count() == 2));
  CHECK(absl::IsFailedPrecondition(leases.add(a, held).status()));
}

TEST_CASE("leases: an id of an earlier daemon, or a guessed one, holds and releases nothing") {
  Leases before, after;
  auto held = std::make_shared<const int>(1);
  std::vector<std::uint64_t> old_sessions, old_leases;
  for (int i = 0; i < 100; ++i) {
    old_sessions.push_back(before.open_session({1000, 1}));
    old_leases.push_back(before.add(old_sessions.back(), nullptr).value());
  }
  // As many again, so that counters would meet.
  const std::uint64_t session = after.open_session({1000, 1});
  for (int i = 0; i < 200; ++i) REQUIRE(after.add(session, held).ok());
  for (std::uint64_t lease : old_leases) after.release(session, lease);
  CHECK(after.num_leases() == 200);
  for (std::uint64_t old : old_sessions) CHECK(absl::IsFailedPrecondition(after.add(old, held).status()));
  for (std::uint64_t guess = 0; guess < 1000; ++guess) CHECK_FALSE(after.add(guess, held).ok());
}

TEST_CASE("leases: there is a limit, and what is released makes room") {
  Leases leases(4);  // two of one client
  const std::uint64_t session = leases.open_session({1000, 1});
  const std::uint64_t first = leases.add(session, nullptr).value();
  REQUIRE(leases.add(session, nullptr).ok());
  CHECK(absl::IsResourceExhausted(leases.add(session, nullptr).status()));
  leases.release(session, first);
  CHECK(leases.add(session, nullptr).ok());
  leases.close_session(session);
  CHECK(leases.num_leases() == 0);
}

TEST_CASE("leases: one process has half of them, however many sessions it opens") {
  Leases leases(4);
  const std::uint64_t first = leases.open_session({1000, 1}), second = leases.open_session({1000, 1});
  REQUIRE(leases.add(first, nullptr).ok());
  REQUIRE(leases.add(second, nullptr).ok());
  const absl::Status refused = leases.add(second, nullptr).status();
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(std::string(refused.message()).find("process 1 holds 2") != std::string::npos);
  const std::uint64_t other = leases.open_session({1000, 2});
  CHECK(leases.add(other, nullptr).ok());
  CHECK(leases.add(other, nullptr).ok());
  const std::uint64_t third = leases.open_session({1000, 3});
  CHECK(absl::IsResourceExhausted(leases.add(third, nullptr).status()));  // all four are held
  leases.close_session(first);
  CHECK(leases.add(second, nullptr).ok());
}

}  // namespace
}  // namespace hearth::daemon
