#include "runtime/thread_pool.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <set>

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

std::set<int> thread_ids() {
  std::set<int> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(std::stoi(entry.path().filename().string()));
  return ids;
}

bool is_sleeping(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S ") != std::string::npos;
}

sem_t stopped, go_on;
void stop_here(int) {
  sem_post(&stopped);
  while (sem_wait(&go_on) != 0) {
  }
}

}  // namespace

// A process that has no core for its workers is no slower than with one thread.
TEST_CASE("the caller does what a worker that gets no time has not begun") {
#ifdef __SANITIZE_THREAD__
  SKIP_CASE("ThreadSanitizer holds signals back until a thread calls one of its interceptors; a worker never does");
#endif
  using namespace std::chrono_literals;
  sem_init(&stopped, 0, 0);
  sem_init(&go_on, 0, 0);
  struct sigaction action = {}, old;
  action.sa_handler = stop_here;
  sigaction(SIGUSR2, &action, &old);
  const std::set<int> before = thread_ids();
  ThreadPool pool(3);
  int held = 0;
  for (int id : thread_ids()) {
    if (before.contains(id)) continue;
    syscall(SYS_tgkill, getpid(), id, SIGUSR2);
    ++held;
  }
  for (int i = 0; i < held; ++i) sem_wait(&stopped);
  CHECK(held == 2);
  Marks marks;
  marks.counts.assign(100, 0);
  auto finished = std::async(std::launch::async, [&] {
    for (int job = 0; job < 3; ++job) pool.run(100, 1, mark, &marks);
  });
  const bool in_time = finished.wait_for(hearth::test::give_up()) == std::future_status::ready;
  for (int i = 0; i < held; ++i) sem_post(&go_on);
  finished.get();
  CHECK(in_time);
  CHECK(std::ranges::all_of(marks.counts, [](int count) { return count == 3; }));
  // The workers are back: what they missed does not disturb them.
  for (int job = 0; job < 1000; ++job) pool.run(100, 1, mark, &marks);
  CHECK(std::ranges::all_of(marks.counts, [](int count) { return count == 1003; }));
  sigaction(SIGUSR2, &old, nullptr);
}

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
        // Every part in up to eight pieces and a rest, none smaller than what is worth a thread but for the rest.
        CHECK(marks.parts >= most);
        CHECK(marks.parts <= std::max<std::int64_t>(1, std::min<std::int64_t>(most * 16, units / least + most)));
      }
    }
  }
}

// A core that is slow, or that others use, does not hold up a launch for its whole part.
TEST_CASE("threads that are done take pieces of the others' parts") {
  struct Job {
    std::atomic<int> others{0};
    std::atomic<bool> held{false};
    std::atomic<bool> helped{false};
  };
  // Whoever comes first holds his piece until the other thread has done all the rest.
  auto task = [](void* context, std::int64_t begin, std::int64_t end) {
    Job& job = *static_cast<Job*>(context);
    bool first = false;
    if (!job.held.compare_exchange_strong(first, true)) {
      job.others += static_cast<int>(end - begin);
      return;
    }
    hearth::test::eventually([&] { return job.helped = job.others == 15; });
  };
  ThreadPool pool(2);  // whose worker was never seen on this core: it is asked
  Job job;
  pool.run(16, 1, task, &job);
  CHECK(job.helped);
}

TEST_CASE("a pool survives many short jobs and parked workers") {
  const std::set<int> before = thread_ids();
  ThreadPool pool(4);
  Marks marks;
  marks.counts.assign(97, 0);
  for (int job = 0; job < 5000; ++job) pool.run(97, 1, mark, &marks);
  const auto are_parked = [&] {
    const std::set<int> now = thread_ids();
    return std::ranges::all_of(now, [&](int id) { return before.contains(id) || is_sleeping(id); });
  };
  for (int job = 0; job < 10; ++job) {
    REQUIRE(hearth::test::eventually(are_parked));
    pool.run(97, 1, mark, &marks);
  }
  CHECK(std::all_of(marks.counts.begin(), marks.counts.end(), [](int count) { return count == 5010; }));
}

TEST_CASE("pools start and stop without a job") {
  const std::set<int> before = thread_ids();
  for (int i = 0; i < 50; ++i) ThreadPool pool(1 + i % 5);
  CHECK(thread_ids() == before);  // all are joined
}

TEST_CASE("a pool that a forked child inherits works and ends there, with threads of the child's own") {
#ifdef __SANITIZE_THREAD__
  SKIP_CASE("ThreadSanitizer ends a process that starts threads after a fork");
#endif
  auto pool = std::make_unique<ThreadPool>(3);
  Marks marks;
  marks.counts.assign(64, 0);
  pool->run(64, 1, mark, &marks);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // a child that waits for threads it does not have ends by this
    const std::size_t inherited = thread_ids().size();
    for (int job = 0; job < 100; ++job) pool->run(64, 1, mark, &marks);
    const bool started = thread_ids().size() == inherited + 2;
    pool.reset();
    const bool all = std::all_of(marks.counts.begin(), marks.counts.end(), [](int count) { return count == 101; });
    _exit(started && all ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  pool->run(64, 1, mark, &marks);
  CHECK(std::all_of(marks.counts.begin(), marks.counts.end(), [](int count) { return count == 2; }));
}
