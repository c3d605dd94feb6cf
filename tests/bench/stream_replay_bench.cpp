// What a replay on a CUDA or HIP device costs the host beside its driver: the driver's launch, copy and look do nothing, so
// that what is left is ours, and the choice of the device by a stand-in. Run with the stand-in of the driver:
//
//   LD_LIBRARY_PATH=build/release/stand_in HEARTH_TEST_DEVICE=cuda build/release/bin/stream_replay_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/stream/stand_in.h"

namespace hearth::runtime {
namespace {

using Clock = std::chrono::steady_clock;

template <typename T>
T checked(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}

void check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

// Of `rounds` calls, each timed: the median and the 99th percentile, in microseconds.
template <typename Run>
void print_times(const char* name, const Run& run) {
  constexpr int kRounds = 20'000;
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const Clock::time_point start = Clock::now();
    run(i);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  std::printf("%-44s %8.2f %8.2f  us\n", name, times[kRounds / 2], times[kRounds / 100 * 99]);
}

void measure(int launches) {
  const float scale = 0.5F;
  const auto device = testing::StandIn::device();
  const testing::SaxpyPlan made = testing::saxpy_plan(256, true, launches);
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.device = device.get();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["a"] = {&scale, sizeof scale, nullptr};
  const auto plan = checked(LoadedPlan::create(request));
  Instance instance = checked(create_instance(plan, {.threads = 1}));
  auto& api = const_cast<StreamApi&>(testing::StandIn::api());
  const auto launch = api.graph_launch;
  const auto query = api.stream_query;
  const auto copy = api.copy_in;
  api.graph_launch = [](void*, void*) { return 0; };
  api.stream_query = [](void*) { return 0; };
  api.copy_in = [](void*, const void*, std::size_t, void*) { return 0; };
  std::printf("%d launches%38s %8s\n", launches, "p50", "p99");
  print_times("execute(), the same values", [&](int) { check(instance.execute()); });
  print_times("execute(), another length each time", [&](int i) {
    check(instance.set_var("n", i % 2 == 0 ? 100 : 200));
    check(instance.execute());
  });
  api.graph_launch = launch;
  api.stream_query = query;
  api.copy_in = copy;
}

}  // namespace
}  // namespace hearth::runtime

int main() {
  for (const int launches : {36, 450}) hearth::runtime::measure(launches);
}
