// The checks of a CompileBlob request before any work is done for it: its sizes are finite, its paths stay below the
// root. Which flags are allowed is the compiler's business (blobs/tools). Pure; thread-safe.
// Errors: FAILED_PRECONDITION for another protocol version, INVALID_ARGUMENT naming blob, field and remedy.
//   HEARTH_RETURN_IF_ERROR(check_blob_request(request));
#pragma once
#include <absl/status/status.h>

#include "base/status_macros.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

absl::Status check_blob_request(const v1::CompileBlobRequest& request);

}  // namespace hearth::daemon
