// BlobEnvironment: where a library's blobs come from and go to, from the environment and what was baked into it.
//
//   CK_JIT_ROOT       folder of sources and hearth-blobc; else as baked in; else {folder of the .so}/ck_jit.
//                     A relative one is relative to the folder of the .so.
//   CK_JIT_NAME       name of the cache folder; else as baked in
//   CK_JIT_CACHE_DIR  cache of direct mode; else $XDG_CACHE_HOME/<name>, else $HOME/.cache/<name>. Naming one chooses
//                     direct mode, unless HEARTH_BLOB_MODE says otherwise: who names a folder wants it used.
//   CK_JIT_VERBOSE    1: one line on stderr for each blob
//   HEARTH_BLOB_MODE  auto (default: the daemon when there is one, else direct), daemon, direct
//   HEARTH_BLOB_CLIENT, HEARTH_BLOBC   other files than libhearth_blob_client.so and {root}/hearth-blobc
//   HEARTH_BLOB_RETRY_S (30), HEARTH_BLOB_TIMEOUT_S (900)
// A process that changed its user (setuid) sees none of them. Thread-safe as far as getenv is. Errors: BlobError
// INVALID_ARGUMENT naming the variable, NOT_FOUND for a root that does not exist.
#pragma once
#include <string>

#include "blobs/loader/hearth_blob.h"

namespace hearth::blob {

enum class BlobMode { kAuto, kDaemon, kDirect };

struct BlobEnvironment {
  std::string library_folder;  // of the .so that holds the Library; absolute
  std::string root;            // absolute
  BlobMode mode = BlobMode::kAuto;
  std::string cache_folder;  // empty when neither variable nor home folder says where
  std::string client;        // HEARTH_BLOB_CLIENT; empty: to be looked for
  std::string compiler;
  bool verbose = false;
  int timeout_seconds = 900;
};

BlobEnvironment read_environment(const Library& library);

// HEARTH_BLOB_RETRY_S: how long a failure is remembered.
int retry_seconds();

}  // namespace hearth::blob
