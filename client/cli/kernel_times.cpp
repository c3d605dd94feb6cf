#include "client/cli/kernel_times.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/span.h"
#include "base/status_macros.h"
#include "client/jit/prepared_state.h"
#include "runtime/devices/devices.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTime{500};
constexpr int kWarmUps = 3, kMaxReplays = 1000;

// The third in the middle, by their whole time: at least one.
std::vector<runtime::Profile> middle_third(std::vector<runtime::Profile> replays) {
  std::sort(replays.begin(), replays.end(),
            [](const runtime::Profile& a, const runtime::Profile& b) { return a.total_ns < b.total_ns; });
  const auto third = static_cast<std::ptrdiff_t>((replays.size() - 1) / 3);
  return {replays.begin() + third, replays.end() - third};
}

}  // namespace

absl::StatusOr<KernelTimes> measure_kernels(client::Instance& instance, const client::PreparedPlan& plan,
                                            int least_replays) {
  for (int i = 0; i < kWarmUps; ++i) {
    HEARTH_RETURN_IF_ERROR(instance.execute());
  }
  KernelTimes times;
  std::vector<runtime::Profile> replays;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < least_replays || (i < kMaxReplays && Clock::now() - start < kTime); ++i) {
    const Clock::time_point before = Clock::now();
    HEARTH_RETURN_IF_ERROR(instance.execute());
    times.replays_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
    HEARTH_ASSIGN_OR_RETURN(runtime::Profile profile, instance.execute_profiled());
    replays.push_back(std::move(profile));
  }
  std::sort(times.replays_us.begin(), times.replays_us.end());
  replays = middle_third(std::move(replays));
  std::map<std::uint32_t, KernelTime> by_kernel;
  std::size_t next = 0;  // the profile has the launches of a replay: those that are not run once
  for (const runtime::PlanLaunch& launch : loaded_plan(plan).plan().launches) {
    if (launch.once || next == replays[0].launches.size()) continue;
    if (replays[0].launches[next].grid == 0) {  // for other lengths
      ++next;
      continue;
    }
    KernelTime& kernel = by_kernel[launch.kernel];
    kernel.kernel = launch.kernel;
    kernel.launches += replays[0].launches[next].runs;
    kernel.units = std::max(kernel.units, static_cast<std::uint64_t>(replays[0].launches[next].grid));
    kernel.ops += static_cast<double>(replays[0].launches[next].num_ops);
    double total_ns = 0;
    for (const runtime::Profile& replay : replays) total_ns += static_cast<double>(replay.launches[next].time_ns);
    kernel.time_us += total_ns / static_cast<double>(replays.size()) / 1e3;
    ++next;
  }
  for (const auto& [place, kernel] : by_kernel) {
    times.kernels.push_back(kernel);
    times.kernels_us += kernel.time_us;
  }
  std::stable_sort(times.kernels.begin(), times.kernels.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.time_us > b.time_us; });
  return times;
}

absl::Status trace_kernels(client::Instance& instance, const std::string& device) {
  const Span span("replay, kernel by kernel", "replay");
  std::uint64_t at = span_clock_ns();
  HEARTH_ASSIGN_OR_RETURN(const client::Profile profile, instance.execute_profiled());
  for (const runtime::LaunchTime& launch : profile.launches) {
    if (launch.time_ns == 0 || runtime::runs_on_host(device)) continue;
    add_span({launch.kernel, "kernel", at, launch.time_ns, 0, device, 0});
    at += launch.time_ns;
  }
  return absl::OkStatus();
}

}  // namespace hearth::cli
