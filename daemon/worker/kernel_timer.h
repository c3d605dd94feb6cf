// KernelTimer: runs two candidates of one kernel in turn, on the same random inputs, on the idlest core, and times
// them.
//
// A B A B, the least processor time of several batches a round: a change of the machine's speed hits both, and what
// others do on the core meanwhile does not count. The results are compared before anything is timed. Runs compiled code in
// this process: only ever in a worker. Errors: INVALID_ARGUMENT for a spec that makes no sense, FAILED_PRECONDITION for a
// target that this machine cannot run, RESOURCE_EXHAUSTED for buffers over 2 GiB, the loader's.
//
//   absl::StatusOr<v1::Timing> timing = time_candidates(spec, target);
#pragma once
#include <absl/status/statusor.h>

#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::daemon {

// Candidates are functions of shared objects, run by this host's processors.
inline bool is_timed(const v1::Target& target) { return target.device() == "cpu"; }

absl::StatusOr<v1::Timing> time_candidates(const v1::TimeSpec& spec, const v1::Target& target);

}  // namespace hearth::daemon
