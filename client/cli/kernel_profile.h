// What measuring a plan's kernels gave, as tables and JSON show it: one table, most time first, with how near each
// kernel is to what the machine can do and what keeps it from more. Pure functions.
//
//   print_table(profile_table({rows, *times, machine_speed(threads)}));
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "client/cli/kernel_rows.h"
#include "client/cli/machine_speed.h"
#include "client/cli/table.h"

namespace hearth::cli {

struct KernelProfile {
  std::vector<KernelRow> rows;  // with times
  KernelTimes times;
  std::optional<MachineSpeed> speed;  // nothing: of a device whose limits are not measured
};

// The speed of the device and threads that a plan runs on, measured where it was not yet.
std::optional<MachineSpeed> speed_of(const client::PreparedPlan& plan);

// Kernels that replays run, then rows for what lies between them and for the whole replay.
Rows profile_table(const KernelProfile& profile);
nlohmann::ordered_json profile_json(const KernelProfile& profile);

}  // namespace hearth::cli
