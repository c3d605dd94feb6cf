#include "daemon/store/user_accounts.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;
constexpr uid_t kAnn = 70001, kBob = 70002;  // nobody of these runs the test

TEST_CASE("user accounts: a quota is of the last hour, of each user alone, and of neither owner nor root") {
  UserAccounts accounts({.kernels_per_hour = 3, .bytes_per_hour = 0});
  const Clock::time_point start{1000h};
  CHECK(accounts.check(kAnn, start).ok());
  for (int i = 0; i < 3; ++i) accounts.compiled(kAnn, 10, start + i * 10min);
  const absl::Status over = accounts.check(kAnn, start + 21min);
  CHECK(absl::IsResourceExhausted(over));
  CHECK(std::string(over.message()).find("3 kernels were compiled for user 70001 in the last hour") !=
        std::string::npos);
  CHECK(accounts.check(kBob, start + 21min).ok());
  CHECK(accounts.check(::geteuid(), start + 21min).ok());
  CHECK_FALSE(accounts.check(kAnn, start + 59min).ok());
  CHECK(accounts.check(kAnn, start + 61min).ok());  // the first is an hour old
  accounts.compiled(kAnn, 10, start + 62min);
  CHECK_FALSE(accounts.check(kAnn, start + 63min).ok());
  CHECK(accounts.check(kAnn, start + 50h).ok());
  CHECK(accounts.snapshot().at(kAnn).kernels_compiled == 4);
  CHECK(accounts.snapshot().at(kAnn).bytes_stored == 40);
  CHECK(accounts.snapshot().at(kAnn).over_quota == 0);  // the cache may have had it
  accounts.count_over_quota(kAnn);
  CHECK(accounts.snapshot().at(kAnn).over_quota == 1);
}

TEST_CASE("user accounts: bytes have a quota of their own, and without quotas nothing is refused") {
  UserAccounts bytes({.kernels_per_hour = 0, .bytes_per_hour = 1000}), none;
  const Clock::time_point now{1000h};
  for (UserAccounts* accounts : {&bytes, &none}) {
    accounts->compiled(kAnn, 999, now);
    CHECK(accounts->check(kAnn, now).ok());
    accounts->compiled(kAnn, 1, now);
  }
  CHECK(std::string(bytes.check(kAnn, now).message()).find("user_bytes_per_hour") != std::string::npos);
  CHECK(none.check(kAnn, now).ok());
}

TEST_CASE("user accounts: answers are counted by user and outcome") {
  UserAccounts accounts;
  accounts.count(kAnn, PrepareOutcome::kHit);
  accounts.count(kAnn, PrepareOutcome::kHit);
  accounts.count(kAnn, PrepareOutcome::kJoined);
  accounts.count(kBob, PrepareOutcome::kError);
  const auto all = accounts.snapshot();
  CHECK(all.at(kAnn).hits == 2);
  CHECK(all.at(kAnn).joined == 1);
  CHECK(all.at(kBob).errors == 1);
  CHECK(all.at(kBob).hits == 0);
}

}  // namespace
}  // namespace hearth::daemon
