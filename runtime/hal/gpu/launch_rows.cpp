#include "runtime/hal/gpu/launch_rows.h"

#include <algorithm>
#include <cstring>

#include "base/kernel_abi.h"
#include "base/text.h"
#include "runtime/hal/barriers.h"

namespace hearth::runtime {
namespace {

// A recorded launch takes a few hundred bytes of the driver's memory.
constexpr std::size_t kMaxLaunches = std::size_t{1} << 20;

}  // namespace

absl::StatusOr<LaunchRows> LaunchRows::of(Rows& rows) {
  LaunchRows all(rows);
  std::vector<std::uint32_t> launches;
  rows.for_each_launch([&](std::uint32_t number, bool) {
    const std::uint32_t place = rows.steps[number].launch;
    const PlanLaunch& launch = rows.plan->launches[place];
    all.steps_.push_back(number);
    all.first_words_.push_back(all.num_words_);
    all.num_words_ += HEARTH_ROW_VAR(launch.buffers.size(), launch.vars.size());
    launches.push_back(place);
  });
  if (all.size() > kMaxLaunches) {
    return absl::ResourceExhaustedError(str_cat("the plan's loops make ", all.size(), " launches in one run; at most ",
                                                kMaxLaunches, " are recorded: run shorter pieces, carrying the state"));
  }
  all.waits_ = barriers(*rows.plan, launches);
  return all;
}

std::int64_t LaunchRows::groups(std::size_t launch, std::int64_t most) const {
  const Rows::Step& of = step(launch);
  const PlanKernel& kernel = rows_->plan->kernels[of.kernel];
  const std::int64_t units = rows_->plan->launches[of.launch].grid.max(),
                     size = kernel.unit_is_workgroup ? 1 : kernel.workgroup_size;
  return std::min(units / size + (units % size != 0), most);
}

void LaunchRows::write(std::uint64_t* words) {
  std::size_t i = 0;
  rows_->for_each_launch([&](std::uint32_t number, bool runs) {
    const Rows::Step& step = rows_->steps[number];
    const PlanLaunch& launch = rows_->plan->launches[step.launch];
    std::uint64_t* row = words + first_words_[i++];
    row[HEARTH_ROW_UNITS] = runs ? static_cast<std::uint64_t>(step.grid) : 0;
    std::memcpy(row + HEARTH_ROW_BUFFER(0), rows_->addresses.data() + step.first_address,
                launch.buffers.size() * sizeof *row);
    if (!launch.vars.empty()) {
      std::memcpy(row + HEARTH_ROW_VAR(launch.buffers.size(), 0), rows_->values.data() + step.first_value,
                  launch.vars.size() * sizeof *row);
    }
  });
}

void LaunchRows::add_times(const std::vector<std::uint64_t>& ticks, double tick_ns, Profile& profile) {
  std::size_t i = 0;
  rows_->for_each_launch([&](std::uint32_t number, bool runs) {
    const std::uint64_t time = ticks[i + 1] - ticks[i];
    ++i;
    if (!runs) return;
    LaunchTime& launch = profile.launches[number];
    launch.time_ns += static_cast<std::uint64_t>(static_cast<double>(time) * tick_ns);
    launch.num_ops += rows_->steps[number].num_ops;
    ++launch.runs;
  });
}

}  // namespace hearth::runtime
