// kill -9 at random points of a stream of puts: every acknowledged entry is intact, no partial one is visible.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "tests/unit/cache/cache_fixture.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

// Puts kernels and plans from `first` on for ever; writes each number to `acknowledged` once both are stored.
[[noreturn]] void put_for_ever(const std::string& dir, int first, int acknowledged) {
  auto cache = KernelsCache::open({.dir = dir, .limit_bytes = 0});
  if (!cache.ok()) ::_exit(2);
  for (int number = first;; ++number) {
    auto kernel = (*cache)->put_kernel(material_of(number), artifact_of(number));
    if (!kernel.ok()) ::_exit(3);
    auto plan = (*cache)->put_plan(plan_material_of(number), "plan" + std::to_string(number), {&kernel->digest, 1});
    if (!plan.ok()) ::_exit(4);
    if (::write(acknowledged, &number, sizeof number) != sizeof number) ::_exit(5);
  }
}

// Runs it until `delay_us` after its first acknowledgement; gives the last number it acknowledged.
int run_and_kill(const std::string& dir, int first, int delay_us) {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  pid_t pid = ::fork();
  if (pid == 0) put_for_ever(dir, first, pipe_ends[1]);
  ::close(pipe_ends[1]);
  int last = first - 1, number = 0;
  if (::read(pipe_ends[0], &number, sizeof number) == sizeof number) last = number;
  ::usleep(static_cast<useconds_t>(delay_us));
  REQUIRE(::kill(pid, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(WIFSIGNALED(status));  // not one of our own exits
  while (::read(pipe_ends[0], &number, sizeof number) == sizeof number) last = number;
  ::close(pipe_ends[0]);
  return last;
}

}  // namespace

TEST_CASE("kill -9 at 25 random points of puts: acknowledged entries are intact, nothing is half there") {
  CacheFixture fixture;
  fixture.options.limit_bytes = 0;
  std::mt19937 random(20240607);
  int next = 0, acknowledged = 0;
  std::vector<int> numbers;
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    int last = run_and_kill(fixture.options.dir, next, static_cast<int>(random() % 20'000));
    for (int number = next; number <= last; ++number) numbers.push_back(number);
    acknowledged += last - next + 1;
    next = last + 10;

    KernelsCache& cache = fixture.open();
    CHECK(files_under(fixture.options.dir + "/tmp").empty());
    for (int number : numbers) {
      CAPTURE(number);
      std::optional<PlanEntry> plan = cache.find_plan(plan_material_of(number));
      REQUIRE(plan);
      REQUIRE(*plan->plan == "plan" + std::to_string(number));
      REQUIRE(cache.find_kernel(material_of(number)));
      REQUIRE(*read_artifact(cache, plan->artifacts[0].digest) == artifact_of(number));
    }
    // What was not acknowledged is there whole or not at all.
    CHECK(files_under(fixture.options.dir + "/cas").size() == cache.stats().artifacts);
    CHECK(cache.verify().problems.empty());
    CHECK(cache.stats().quarantined == 0);
    fixture.cache.reset();
  }
  CHECK(acknowledged >= 25);
  CHECK(fixture.warnings.empty());
}
