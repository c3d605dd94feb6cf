// Opts across processes: hearth.v1.Opt and back. What comes in is checked: a record may be old, damaged or forged.
//
//   absl::StatusOr<std::vector<Opt>> opts = from_proto(record.opts());
//   if (opts.ok()) absl::Status fits = check_opts(flat, *opts);
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/opts.h"
#include "google/protobuf/repeated_field.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::schedule {

using OptProtos = google::protobuf::RepeatedPtrField<v1::Opt>;

OptProtos to_proto(const std::vector<Opt>& opts);

// INVALID_ARGUMENT for an unknown kind or too many opts.
absl::StatusOr<std::vector<Opt>> from_proto(const OptProtos& opts);

// Whether `opts` may be applied to the flat kernel: each names an axis (PACK: a param) that it has, with an amount that
// leaves code of sensible size. INVALID_ARGUMENT names the opt.
absl::Status check_opts(ir::UOpRef flat, const std::vector<Opt>& opts);

// Copies of its code that `opts` make of a kernel's largest store.
std::int64_t num_copies(ir::UOpRef flat, const std::vector<Opt>& opts);

// "LANES(1, 16) UNROLL(0, 4)"
std::string to_string(const std::vector<Opt>& opts);

}  // namespace hearth::schedule
