// check_record: whether a target's record, which comes from a client, makes sense. INVALID_ARGUMENT names the field,
// what it says and what it may say; UNIMPLEMENTED a device that no kernel can be made for. Pure; thread-safe.
//
//   HEARTH_RETURN_IF_ERROR(target::check_record(record));
#pragma once
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::target {

absl::Status check_record(const v1::Target& record);

}  // namespace hearth::target
