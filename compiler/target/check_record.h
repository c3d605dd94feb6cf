// check_record: whether a target's record, which comes from a client, makes sense. INVALID_ARGUMENT names the field,
// what it says and what it may say; UNIMPLEMENTED a device that no kernel can be made for. Pure; thread-safe.
//
//   if (absl::Status good = target::check_record(record); !good.ok()) return good;
#pragma once
#include "absl/status/status.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::target {

absl::Status check_record(const v1::Target& record);

}  // namespace hearth::target
