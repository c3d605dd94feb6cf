#include "daemon/worker_pool/compile_queue.h"
#include "tests/support/manual_clock.h"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

namespace hearth::daemon {
namespace {

CompileJob lowering(std::uint64_t id) {
  CompileJob job;
  job.id = id;
  job.request.mutable_lower();
  return job;
}
CompileJob kernel(std::uint64_t id) {
  CompileJob job;
  job.id = id;
  job.request.mutable_compile();
  return job;
}

CompileJob timing(std::uint64_t id) {
  CompileJob job;
  job.id = id;
  job.request.mutable_time();
  return job;
}

TEST_CASE("queue: kernels first, tuning last, order kept, lowerings bounded, removal") {
  CompileQueue queue(4);  // of one client: two
  using std::chrono::milliseconds;
  for (CompileJob job : {timing(7), lowering(1), kernel(2), lowering(3), timing(8), kernel(4), kernel(5)})
    REQUIRE(queue.push(job).ok());
  CompileJob late = lowering(6);
  CHECK(absl::IsResourceExhausted(queue.push(late)));
  CHECK(late.id == 6);  // not taken
  CHECK(queue.remove(4)->id == 4);
  CHECK_FALSE(queue.remove(4).has_value());
  std::vector<std::uint64_t> order;
  while (auto job = queue.pop(milliseconds(0))) order.push_back(job->id);
  CHECK(order == std::vector<std::uint64_t>{2, 5, 1, 3, 7, 8});
}

TEST_CASE("queue: close ends waiting and refuses more, but gives what is left") {
  CompileQueue queue(2);
  bool got_nothing = false;
  std::thread waiter([&] { got_nothing = !queue.pop(std::chrono::hours(1)).has_value(); });
  queue.close();
  waiter.join();
  CHECK(got_nothing);
  CompileJob job = kernel(1);
  CHECK(absl::IsUnavailable(queue.push(job)));
}

CompileJob of(pid_t pid, CompileJob job) {
  job.client = {1000, pid};
  return job;
}

std::vector<std::uint64_t> popped(CompileQueue& queue) {
  std::vector<std::uint64_t> order;
  while (auto job = queue.pop(std::chrono::milliseconds(0))) order.push_back(job->id);
  return order;
}

TEST_CASE("queue: clients take turns: a request's thousand kernels do not stand before another's one") {
  CompileQueue queue(100);
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    CompileJob job = of(1, kernel(id));
    REQUIRE(queue.push(job).ok());
  }
  for (CompileJob job : {of(2, lowering(2001)), of(2, kernel(2002)), of(3, lowering(3001)), of(3, timing(3002))})
    REQUIRE(queue.push(job).ok());
  const std::vector<std::uint64_t> order = popped(queue);
  REQUIRE(order.size() == 1004);
  CHECK(std::vector<std::uint64_t>(order.begin(), order.begin() + 5) ==
        std::vector<std::uint64_t>{1, 2002, 3001, 2, 2001});
  CHECK(order.back() == 3002);
  CHECK(queue.size() == 0);
}

TEST_CASE("queue: one client has half of the places for graphs, others find some") {
  CompileQueue queue(4);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    CompileJob job = of(1, lowering(id));
    REQUIRE(queue.push(job).ok());
  }
  CompileJob more = of(1, lowering(3));
  const absl::Status refused = queue.push(more);
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(std::string(refused.message()).find("process 1") != std::string::npos);
  CompileJob others = of(2, lowering(4));
  CHECK(queue.push(others).ok());
  CHECK(queue.remove(2)->id == 2);
  CHECK(queue.push(more).ok());
}

TEST_CASE("queue: a spare worker takes what clients without a running job have waiting, after a while") {
  using std::chrono::milliseconds;
  test::ManualClock clock;
  CompileQueue queue(100, clock);
  for (CompileJob job : {of(1, lowering(1)), of(1, lowering(2)), of(1, timing(3))}) REQUIRE(queue.push(job).ok());
  CHECK_FALSE(queue.pop(milliseconds(0), WorkerRole::kSpare).has_value());  // not yet
  CHECK(queue.pop(milliseconds(0))->id == 1);
  clock.advance(2 * CompileQueue::kSpareAfter);
  CHECK_FALSE(queue.pop(milliseconds(0), WorkerRole::kSpare).has_value());  // its client has one running
  CompileJob other = of(2, lowering(4));
  REQUIRE(queue.push(other).ok());
  clock.advance(CompileQueue::kSpareAfter - milliseconds(1));
  CHECK_FALSE(queue.pop(milliseconds(0), WorkerRole::kSpare).has_value());
  // Who waits already has it when the time has come.
  auto waiting = std::async(std::launch::async, [&] { return queue.pop(std::chrono::hours(1), WorkerRole::kSpare); });
  clock.advance(milliseconds(1));
  CHECK(waiting.get()->id == 4);
  queue.ended({1000, 1});
  CHECK(queue.pop(std::chrono::hours(1), WorkerRole::kSpare)->id == 2);     // nobody else took it
  CHECK_FALSE(queue.pop(milliseconds(0), WorkerRole::kSpare).has_value());  // tuning is never worth a spare worker
}

}  // namespace
}  // namespace hearth::daemon
