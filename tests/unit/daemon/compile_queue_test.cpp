#include "daemon/build/compile_queue.h"

#include <catch2/catch.hpp>
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
  CompileQueue queue(2);
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

}  // namespace
}  // namespace hearth::daemon
