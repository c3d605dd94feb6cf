// How long a remote has before local work begins, and how many calls are made twice.
#include <catch2/catch.hpp>

#include "daemon/remote/answer_times.h"
#include "daemon/remote/hedge_budget.h"

namespace hearth::daemon {
namespace {

using std::chrono::milliseconds;

TEST_CASE("A remote that answers fast has a short head start, a slow one the most", "[remote]") {
  AnswerTimes times;
  CHECK(times.head_start() == AnswerTimes::kMostHeadStart);  // nothing is known
  for (int i = 0; i < 100; ++i) times.add(milliseconds(2));
  CHECK(times.head_start() == AnswerTimes::kLeastHeadStart);
  for (int i = 0; i < 128; ++i) times.add(milliseconds(30));
  CHECK(times.head_start() == milliseconds(60));
  for (int i = 0; i < 128; ++i) times.add(milliseconds(5000));
  CHECK(times.head_start() == AnswerTimes::kMostHeadStart);
}

TEST_CASE("The head start is twice what 95 of 100 answers took", "[remote]") {
  AnswerTimes times;
  for (int i = 1; i <= 100; ++i) times.add(milliseconds(i));
  CHECK(times.head_start() == milliseconds(190));
}

TEST_CASE("One call in twenty may be made twice", "[remote]") {
  HedgeBudget budget;
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    budget.count_call();
    taken += budget.takes_hedge() ? 1 : 0;
  }
  CHECK(taken == 50);
  CHECK(budget.hedges() == 50);
  CHECK_FALSE(HedgeBudget().takes_hedge());
}

}  // namespace
}  // namespace hearth::daemon
