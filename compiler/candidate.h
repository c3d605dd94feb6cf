// Candidates of the tuner: a flat kernel under given opts, compiled with the copies it reads, and the opts one change
// away. Pure functions like those of compile.h. Errors: INVALID_ARGUMENT for opts or text that make no sense,
// UNIMPLEMENTED for a device that is not tuned for, else those of compile.h.
//
//   absl::StatusOr<v1::Candidate> heuristic = candidate({flat}, target, options);   // no opts: the heuristic's
//   absl::StatusOr<v1::Neighbours> next = neighbours({flat, heuristic->opts()}, target);
#pragma once
#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::compiler {

absl::StatusOr<v1::Candidate> candidate(const v1::CandidateSpec& spec, const v1::Target& target,
                                        const v1::CompileOptions& options);

absl::StatusOr<v1::Neighbours> neighbours(const v1::NeighboursSpec& spec, const v1::Target& target);

}  // namespace hearth::compiler
