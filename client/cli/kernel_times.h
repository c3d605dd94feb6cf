// Times of a plan's kernels on this machine, each kernel's launches summed: of those warm replays that took about the
// median time, so that they add up to it also where some replays are disturbed; beside the median of whole replays that
// nobody measured inside. Single-threaded. Errors: the replay's.
//
//   absl::StatusOr<KernelTimes> times = measure_kernels(*instance, plan, /*least_replays=*/5);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"

namespace hearth::cli {

struct KernelTime {
  std::uint32_t kernel = 0;    // of the plan
  std::uint64_t launches = 0;  // a replay
  double time_us = 0;          // of all of them
  double ops = 0;              // likewise, arithmetic as the plan counts it
  std::uint64_t units = 0;     // of its largest launch, which threads divide
};

struct KernelTimes {
  std::vector<KernelTime> kernels;  // that run at every replay, most time first
  double kernels_us = 0;            // their sum
  std::vector<double> replays_us;   // of whole replays, sorted

  double replay_us() const { return replays_us[replays_us.size() / 2]; }
  // A replay's time beside its kernels; 0 where measuring them took longer than what lies between them.
  double between_us() const { return replay_us() > kernels_us ? replay_us() - kernels_us : 0; }
};

// Replays for about half a second; at least `least_replays` times.
absl::StatusOr<KernelTimes> measure_kernels(client::Instance& instance, const client::PreparedPlan& plan,
                                            int least_replays);

// One replay whose kernels are spans (base/span.h): by thread where threads of this process run them, else one after
// the other, without what lay between them.
absl::Status trace_kernels(client::Instance& instance, const std::string& device);

}  // namespace hearth::cli
