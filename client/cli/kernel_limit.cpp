#include "client/cli/kernel_limit.h"

#include <algorithm>

namespace hearth::cli {
namespace {

// Below it none of the limits explains the time.
constexpr double kNear = 0.35;
// Shorter ones are a few hundred instructions, and what starts and ends them is no small part.
constexpr double kLaunch_us = 0.5;

}  // namespace

KernelLimit limit_of(const KernelRow& row, const MachineSpeed& speed) {
  KernelLimit limit;
  if (row.gflops() >= 0) limit.peak_share = row.gflops() * 1e9 / speed.flops;
  if (row.gbytes() >= 0) limit.bandwidth_share = row.gbytes() * 1e9 / speed.bandwidth(row.bytes);
  if (row.time_us <= 0 || row.launches == 0 || row.bytes < 0) return limit;
  // The share of threads that had units to do: no limit can be met by more than that.
  const double threads = static_cast<double>(speed.threads);
  const double busy = row.units > 0 ? std::min(1.0, static_cast<double>(row.units) / threads) : 1;
  // The estimate in cycles is that of the peak's cycles: what the arithmetic would take alone, times cycles / least.
  const double instructions =
      row.least_cycles > 0 && limit.peak_share > 0 ? limit.peak_share * row.cycles / row.least_cycles : 0;
  const double most = std::max({limit.peak_share, limit.bandwidth_share, instructions});
  if (row.time_us / static_cast<double>(row.launches) < kLaunch_us && most < busy * 2 * kNear) {
    limit.text = "launch";
  } else if (most < kNear * busy) {
    limit.text = "latency";
  } else if (busy < 1) {
    limit.text = "threads";
  } else if (most == limit.bandwidth_share) {
    limit.text = speed.in_cache(row.bytes) ? "cache" : "memory";
  } else {
    // An estimate above what was measured is the arithmetic's, where that is near its peak.
    const bool at_peak = limit.peak_share >= 0.8 || instructions - limit.peak_share < 0.1;
    limit.text = at_peak ? "arithmetic" : "instructions";
  }
  return limit;
}

}  // namespace hearth::cli
