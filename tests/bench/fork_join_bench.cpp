// fork_join_bench: what a fork and join of the thread pool costs beside the parts themselves (of 5 us each), for the
// gap between two launches and after a pause. The promise is at most 2 us at two threads, on cores that nothing else
// uses. `taskset -c 0 fork_join_bench` shows what threads cost that do not get a core each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "runtime/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

// Of a part. Long enough that a worker begins its part before the caller would do it, too.
constexpr std::chrono::microseconds kWork(5);

void work(void*, std::int64_t, std::int64_t) {
  for (const Clock::time_point begin = Clock::now(); Clock::now() - begin < kWork;) {
  }
}

double percentile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

void measure(int threads, std::chrono::microseconds pause, int count) {
  hearth::runtime::ThreadPool pool(threads);
  std::vector<double> times_us;
  for (int i = -count / 10; i < count; ++i) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const Clock::time_point begin = Clock::now();
    pool.run(threads, 1, work, nullptr);
    if (i >= 0) times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin - kWork).count());
  }
  std::printf("%d threads, %5lld us between: p50 %7.2f us, p99 %7.2f us\n", threads,
              static_cast<long long>(pause.count()), percentile(times_us, 0.5), percentile(times_us, 0.99));
}

}  // namespace

int main() {
  const int cores = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  for (int threads = 2; threads <= cores; threads *= 2) {
    measure(threads, std::chrono::microseconds(0), 200'000);
    measure(threads, std::chrono::microseconds(1000), 500);
  }
}
