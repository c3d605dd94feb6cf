#include "client/cli/kernel_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/cli/format.h"
#include "client/cli/kernel_limit.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(double value) { return value < 0 ? Json() : Json(value); }

std::string percent(double share) { return share < 0 ? "-" : fixed(100 * share, share < 0.1 ? 1 : 0) + " %"; }

std::vector<KernelRow> slowest_first(const std::vector<KernelRow>& rows) {
  std::vector<KernelRow> measured;
  for (const KernelRow& row : rows) {
    if (row.time_us >= 0) measured.push_back(row);
  }
  std::stable_sort(measured.begin(), measured.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.time_us > b.time_us; });
  return measured;
}

KernelLimit limit_of(const KernelRow& row, const KernelProfile& profile) {
  return profile.speed ? cli::limit_of(row, *profile.speed) : KernelLimit();
}

}  // namespace

std::optional<MachineSpeed> speed_of(const client::PreparedPlan& plan) {
  if (!runtime::runs_on_host(plan.device())) return std::nullopt;
  return machine_speed(static_cast<std::uint32_t>(plan.threads()));
}

Rows profile_table(const KernelProfile& profile) {
  const KernelTimes& times = profile.times;
  const double whole = std::max(times.replay_us(), times.kernels_us);
  const auto share = [&](double time_us) { return fixed(whole > 0 ? 100 * time_us / whole : 0, 1) + " %"; };
  Rows table = {{"#", "from", "runs", "time", "share", "GFLOP/s", "peak", "GB/s", "bandwidth", "limited by", "kernel"}};
  std::uint64_t launches = 0;
  for (const KernelRow& row : slowest_first(profile.rows)) {
    launches += row.launches;
    const KernelLimit limit = limit_of(row, profile);
    const std::string from = row.from();
    table.push_back({std::to_string(row.place), from.empty() ? "-" : from, std::to_string(row.launches),
                     human_time(row.time_us), share(row.time_us), rate_text(row.gflops()), percent(limit.peak_share),
                     rate_text(row.gbytes()), percent(limit.bandwidth_share), limit.text.empty() ? "-" : limit.text,
                     short_symbol(row.symbol)});
  }
  const auto sum = [&](const char* name, const std::string& runs, double time_us) {
    table.push_back({"", name, runs, human_time(time_us), share(time_us), "", "", "", "", "", ""});
  };
  sum("between kernels", "", times.between_us());
  sum("replay (median)", std::to_string(launches), whole);
  return table;
}

Json profile_json(const KernelProfile& profile) {
  Json kernels = Json::array();
  for (const KernelRow& row : slowest_first(profile.rows)) {
    const KernelLimit limit = limit_of(row, profile);
    kernels.push_back({{"kernel", row.symbol},
                       {"place", row.place},
                       {"node", row.node()},
                       {"operator", row.operator_name()},
                       {"source", row.source},
                       {"launches", row.launches},
                       {"units", row.units},
                       {"time_us", row.time_us},
                       {"ops", row.ops * static_cast<double>(row.launches)},
                       {"bytes", row.bytes < 0 ? Json() : Json(row.bytes * static_cast<double>(row.launches))},
                       {"gflops", or_null(row.gflops())},
                       {"gbytes_per_s", or_null(row.gbytes())},
                       {"peak_share", or_null(limit.peak_share)},
                       {"bandwidth_share", or_null(limit.bandwidth_share)},
                       {"limited_by", limit.text.empty() ? Json() : Json(limit.text)}});
  }
  Json json = {{"replays", profile.times.replays_us.size()},
               {"replay_us", profile.times.replay_us()},
               {"kernels_us", profile.times.kernels_us},
               {"between_us", profile.times.between_us()},
               {"kernels", std::move(kernels)}};
  if (profile.speed) json["machine"] = speed_json(*profile.speed);
  return json;
}

}  // namespace hearth::cli
