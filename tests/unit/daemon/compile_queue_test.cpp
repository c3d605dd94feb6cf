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

TEST_CASE("queue: a job that two clients wait for goes at the first of their turns") {
  CompileQueue queue(100);
  for (std::uint64_t id = 1; id <= 6; ++id) {
    CompileJob job = of(1, lowering(id));
    REQUIRE(queue.push(job).ok());
  }
  CompileJob others = of(2, lowering(7));
  REQUIRE(queue.push(others).ok());
  queue.share(6, {1000, 3});
  queue.share(6, {1000, 3});  // once
  queue.share(99, {1000, 3});
  CHECK(queue.size() == 7);
  std::vector<std::uint64_t> order;
  std::vector<pid_t> turns;
  while (auto job = queue.pop(std::chrono::milliseconds(0))) {
    order.push_back(job->id);
    turns.push_back(job->turn.pid);
    CHECK(job->client.pid == (job->id == 7 ? 2 : 1));  // whoever's turn it was
  }
  CHECK(order == std::vector<std::uint64_t>{1, 7, 6, 2, 3, 4, 5});
  CHECK(turns == std::vector<pid_t>{1, 2, 3, 1, 1, 1, 1});
  CHECK(queue.size() == 0);
}

TEST_CASE("queue: who leaves a shared job to others leaves no trace of it") {
  CompileQueue queue(4);
  CompileJob job = of(1, lowering(1));
  REQUIRE(queue.push(job).ok());
  queue.share(1, {1000, 2});
  CHECK(queue.remove(1)->id == 1);
  CHECK_FALSE(queue.pop(std::chrono::milliseconds(0)).has_value());
  for (std::uint64_t id = 2; id <= 3; ++id) {  // as many as one client may have waiting
    CompileJob more = of(2, lowering(id));
    REQUIRE(queue.push(more).ok());
  }
}

TEST_CASE("queue: a spare worker serves first whom workers have worked least for") {
  using std::chrono::milliseconds;
  test::ManualClock clock;
  CompileQueue queue(100, clock);
  queue.ended({1000, 1}, std::chrono::seconds(60));
  queue.ended({1000, 2}, std::chrono::seconds(1));
  for (CompileJob job : {of(1, lowering(1)), of(2, lowering(2)), of(3, lowering(3))}) REQUIRE(queue.push(job).ok());
  clock.advance(CompileQueue::kSpareAfter);
  std::vector<std::uint64_t> order;
  while (auto job = queue.pop(milliseconds(0), WorkerRole::kSpare)) order.push_back(job->id);
  CHECK(order == std::vector<std::uint64_t>{3, 2, 1});
}

TEST_CASE("queue: a spare worker goes on with whom it serves, before others who have had more") {
  using std::chrono::milliseconds;
  test::ManualClock clock;
  CompileQueue queue(100, clock);
  queue.ended({1000, 1}, std::chrono::seconds(60));
  CompileJob small = of(2, lowering(1));
  REQUIRE(queue.push(small).ok());
  clock.advance(CompileQueue::kSpareAfter);
  REQUIRE(queue.pop(milliseconds(0), WorkerRole::kSpare)->id == 1);
  CompileJob heavy = of(1, lowering(2));
  REQUIRE(queue.push(heavy).ok());
  clock.advance(CompileQueue::kSpareAfter);
  queue.ended({1000, 2}, milliseconds(100), WorkerRole::kSpare);
  CHECK_FALSE(queue.pop(milliseconds(0), WorkerRole::kSpare).has_value());  // a moment for the kernels
  CompileJob next = of(2, kernel(3));
  REQUIRE(queue.push(next).ok());
  CHECK(queue.pop(milliseconds(0), WorkerRole::kSpare)->id == 3);
  queue.ended({1000, 2}, milliseconds(100), WorkerRole::kSpare);
  clock.advance(CompileQueue::kMoment);
  CHECK(queue.pop(milliseconds(0), WorkerRole::kSpare)->id == 2);
  // Who has had more is not waited for.
  CompileJob light = of(3, lowering(4));
  REQUIRE(queue.push(light).ok());
  clock.advance(CompileQueue::kSpareAfter);
  queue.ended({1000, 1}, std::chrono::seconds(1), WorkerRole::kSpare);
  CHECK(queue.pop(milliseconds(0), WorkerRole::kSpare)->id == 4);
}

TEST_CASE("queue: a job that was given back keeps no worker that is there for others") {
  using std::chrono::milliseconds;
  test::ManualClock clock;
  CompileQueue queue(100, clock);
  CompileJob heavy = of(1, lowering(1));
  REQUIRE(queue.push(heavy).ok());
  clock.advance(CompileQueue::kSpareAfter);
  std::optional<CompileJob> taken = queue.pop(milliseconds(0), WorkerRole::kSpare);
  REQUIRE(taken);
  CHECK_FALSE(queue.others_wait(taken->turn));
  CompileJob light = of(2, lowering(2));
  REQUIRE(queue.push(light).ok());
  CHECK_FALSE(queue.others_wait(taken->turn));  // not long enough
  clock.advance(CompileQueue::kSpareAfter);
  CHECK(queue.others_wait(taken->turn));
  CHECK_FALSE(queue.others_wait({1000, 2}));  // it is the one that waits
  queue.ended(taken->turn, std::chrono::seconds(2));
  taken->is_long = true;
  queue.put_back(*std::move(taken));
  clock.advance(CompileQueue::kSpareAfter);
  CHECK(queue.pop(milliseconds(0), WorkerRole::kSpare)->id == 2);
  for (const WorkerRole role : {WorkerRole::kSpare, WorkerRole::kReserved})
    CHECK_FALSE(queue.pop(milliseconds(0), role).has_value());
  CHECK(queue.size() == 1);
  CHECK(queue.pop(milliseconds(0), WorkerRole::kRegular)->id == 1);
}

TEST_CASE("queue: a cubin is assembled with the kernels, whatever blobs wait") {
  CompileQueue queue(100);
  CompileJob blob = of(1, {}), assemble = of(2, {});
  blob.id = 1, assemble.id = 2;
  blob.request.mutable_blob();
  assemble.request.mutable_assemble();
  CompileJob more = of(1, {});
  more.id = 3;
  more.request.mutable_blob();
  for (CompileJob* job : {&blob, &more, &assemble}) REQUIRE(queue.push(*job).ok());
  CHECK(popped(queue) == std::vector<std::uint64_t>{1, 2, 3});
  for (std::uint64_t id = 1; id <= CompileQueue::kMaxAssembles; ++id) {
    CompileJob one = of(1, {});
    one.request.mutable_assemble();
    REQUIRE(queue.push(one).ok());
  }
  CompileJob more_of_it = of(1, {}), others = of(2, {});
  more_of_it.request.mutable_assemble();
  others.request.mutable_assemble();
  CHECK(absl::IsResourceExhausted(queue.push(more_of_it)));
  CHECK(queue.push(others).ok());
}

}  // namespace
}  // namespace hearth::daemon
