#include "runtime/thread_pool.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>

using hearth::runtime::ThreadPool;

namespace {

struct Marks {
  std::vector<int> counts;
  std::atomic<int> parts{0};
};

void mark(void* context, std::int64_t begin, std::int64_t end) {
  Marks& marks = *static_cast<Marks*>(context);
  for (std::int64_t i = begin; i < end; ++i) ++marks.counts[static_cast<std::size_t>(i)];
  ++marks.parts;
}

}  // namespace

TEST_CASE("a pool computes every unit exactly once, whatever the counts") {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (std::int64_t units : {0, 1, 2, 5, 64, 1001}) {
      for (std::int64_t least : {1, 4, 5000}) {
        Marks marks;
        marks.counts.assign(static_cast<std::size_t>(units), 0);
        pool.run(units, least, mark, &marks);
        CHECK(std::all_of(marks.counts.begin(), marks.counts.end(), [](int count) { return count == 1; }));
        const std::int64_t most =
            units == 0 ? 0 : std::max<std::int64_t>(1, std::min<std::int64_t>(threads, units / least));
        CHECK(marks.parts == most);
      }
    }
  }
}

TEST_CASE("a pool survives many short jobs and parked workers") {
  ThreadPool pool(4);
  Marks marks;
  marks.counts.assign(97, 0);
  for (int job = 0; job < 5000; ++job) pool.run(97, 1, mark, &marks);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // workers park
  for (int job = 0; job < 10; ++job) {
    pool.run(97, 1, mark, &marks);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CHECK(std::all_of(marks.counts.begin(), marks.counts.end(), [](int count) { return count == 5010; }));
}

TEST_CASE("pools start and stop without a job") {
  for (int i = 0; i < 50; ++i) ThreadPool pool(1 + i % 5);
  SUCCEED();
}
