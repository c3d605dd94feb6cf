// DaemonClient: asks hearthd for a blob through libhearth_blob_client.so, which is loaded when first needed, so that
// the library that blobs are called from needs neither gRPC nor protobuf. Looked for in HEARTH_BLOB_CLIENT only when
// that is set, else beside the library, in the root, and by its name. Thread-safe; kept for the life of the process.
// Errors: BlobError as the daemon says, UNAVAILABLE when there is no client or no daemon can be reached: then, in auto
// mode, the blob is compiled directly.
//   CompiledFile file = acquire_from_daemon(environment, request);
#pragma once
#include <string>

#include "blobs/loader/blob_environment.h"
#include "blobs/loader/blob_request.h"

namespace hearth::blob {

CompiledFile acquire_from_daemon(const BlobEnvironment& environment, const BlobRequest& request);

}  // namespace hearth::blob
