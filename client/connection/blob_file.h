// The file of a compiled blob: the daemon's own when this process can read it and it holds what was compiled, else a
// copy in a private folder of this user ($XDG_RUNTIME_DIR or the temp folder, hearth-blobs-UID), named by its digest
// and shared by later calls. Who loads it checks the bytes again, in a copy that stays as it is
// (blobs/loader/sealed_file.h).
// Thread-safe. Errors: PERMISSION_DENIED for a folder that cannot be trusted; DATA_LOSS for bytes of another digest;
// those of fetching. Example:
//   absl::StatusOr<BlobFile> file = open_blob(**channel, result.artifact(), deadline);   // file->path
#pragma once
#include <string>

#include "client/connection/daemon_channel.h"

namespace hearth::client {

struct BlobFile {
  std::string path;
  std::string sha256_hex;
};

absl::StatusOr<BlobFile> open_blob(DaemonChannel& channel, const v1::ArtifactRef& artifact,
                                   DaemonChannel::Deadline deadline);

}  // namespace hearth::client
