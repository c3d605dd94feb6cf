// CandidateTimer: times the tuner's candidates on a GPU of this process, which the daemon's workers do not have. Two at a
// time, on the same sample values, in turn; by the device's clock. Candidates of the last tasks stay loaded. Used by one
// thread. Errors, in the answer: what loading or running one says, results that differ, more memory than 2 GiB.
//
//   CandidateTimer timer(device, target);
//   channel->tune(request, deadline, progress, [&](const v1::TimingTask& task) { return timer.answer(task); });
#pragma once
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "hearth/instance.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/tuning.pb.h"
#include "runtime/hal/device.h"

namespace hearth::cli {

class CandidateTimer {
 public:
  // Borrows the device. `target`: that the candidates are compiled for.
  CandidateTimer(const runtime::Device* device, v1::Target target) : device_(device), target_(std::move(target)) {}

  v1::TimingAnswer answer(const v1::TimingTask& task);

 private:
  using Loaded = std::shared_ptr<runtime::Instance>;
  static constexpr std::size_t kKept = 3;  // the heuristic's, and what was fastest

  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec);
  absl::StatusOr<Loaded> loaded(const v1::Candidate& candidate);

  const runtime::Device* const device_;
  const v1::Target target_;
  std::deque<std::pair<Digest, Loaded>> kept_;  // newest last
};

}  // namespace hearth::cli
