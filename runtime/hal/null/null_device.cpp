#include "runtime/hal/null/null_device.h"

#include "base/kernel_abi.h"
#include "runtime/hal/barriers.h"
#include "runtime/hal/cpu/cpu_target.h"

namespace hearth::runtime {

void NullExecutable::count(std::uint32_t kernel, std::int64_t units) const {
  counts_[kernel].calls.fetch_add(1, std::memory_order_relaxed);
  counts_[kernel].units.fetch_add(static_cast<std::uint64_t>(units), std::memory_order_relaxed);
}

absl::StatusOr<std::unique_ptr<Program>> NullExecutable::program(Rows& rows, const HostWork&) const {
  return std::unique_ptr<Program>(std::make_unique<NullProgram>(*this, rows));
}

NullProgram::NullProgram(const NullExecutable& executable, Rows& rows) : executable_(executable), rows_(rows) {
  record();
  std::vector<std::uint32_t> launches;
  for (const NullCommand& command : commands_) launches.push_back(rows_.steps[command.step].launch);
  const std::vector<bool> waits = barriers(*rows_.plan, launches);
  for (std::size_t i = 0; i < commands_.size(); ++i) commands_[i].waits = waits[i];
}

// Commands of launches that were there before take their new rows in place.
void NullProgram::record() {
  std::size_t next = 0;
  rows_.for_each_launch([&](std::uint32_t i, bool runs) {
    const Rows::Step& step = rows_.steps[i];
    const PlanLaunch& launch = rows_.plan->launches[step.launch];
    if (next == commands_.size()) commands_.emplace_back();
    NullCommand& command = commands_[next++];
    command.step = i;
    command.runs = runs;
    command.units = runs ? step.grid : 0;
    const auto addresses = rows_.addresses.begin() + step.first_address;
    const auto values = rows_.values.begin() + step.first_value;
    command.addresses.assign(addresses, addresses + static_cast<std::ptrdiff_t>(launch.buffers.size()));
    command.values.assign(values, values + static_cast<std::ptrdiff_t>(launch.vars.size()));
  });
}

absl::Status NullProgram::rows_changed() {
  record();
  return absl::OkStatus();
}

absl::Status NullProgram::run() {
  for (const NullCommand& command : commands_) {
    if (command.units > 0) executable_.count(rows_.steps[command.step].kernel, command.units);
  }
  return absl::OkStatus();
}

absl::Status NullProgram::run_profiled(Profile& profile) {
  for (const NullCommand& command : commands_) {
    const Rows::Step& step = rows_.steps[command.step];
    if (!command.runs) continue;
    profile.launches[command.step].num_ops += step.num_ops;
    ++profile.launches[command.step].runs;
  }
  return run();
}

v1::Target NullDevice::target(int threads) const {
  v1::Target target;
  target.set_device("null");
  target.set_threads(static_cast<std::uint32_t>(threads > 0 ? threads : available_cpus()));
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

absl::StatusOr<Buffer> NullDevice::allocate(std::size_t size_bytes, std::string_view what, MemoryUse) const {
  return Buffer::allocate(size_bytes, what);
}

absl::StatusOr<std::unique_ptr<Executable>> NullDevice::load(const Plan& plan,
                                                             const std::vector<ArtifactSource>&) const {
  return std::unique_ptr<Executable>(std::make_unique<NullExecutable>(plan.kernels.size()));
}

}  // namespace hearth::runtime
