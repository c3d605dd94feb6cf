// Blobs without a daemon: a flat folder of <stem>.so, each with <stem>.json that says what it was made of.
//
// An entry is used only while source, headers, flags, archs, exports, glue and compiler are the same: never a stale
// one. (With no compiler on the machine, the rest decides: a cache may be made elsewhere.) Processes that want the same
// stem at once wait for one compile and share its failure, too; nothing is tried twice. The folder and all in it are
// the user's own and private. Blocking; thread-safe. Errors: those of find_toolchain and compile_blob; PermissionDenied
// for a folder that is another's, open to others, or read-only without the entry. Example:
//   absl::StatusOr<DirectHit> hit = obtain(spec, {.cache_dir = "/home/me/.cache/ck_jit"});
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

#include "blobs/tools/blob_compiler.h"

namespace hearth::blobs {

struct DirectOptions {
  std::string cache_dir;                               // absolute; made when missing
  std::string bitcode_folder{};                        // as in find_toolchain
  BlobCompileOptions limits{};                         // its folder is not looked at
  std::function<void(const std::string&)> progress{};  // lines for people; null: none
};

struct DirectHit {
  std::string path;
  std::string sha256_hex;
  bool hit = false;    // it was there already, or another process made it meanwhile
  double seconds = 0;  // of the compile; 0 for a hit
};

absl::StatusOr<DirectHit> obtain(const BlobSpec& spec, const DirectOptions& options);

// Whether obtain() would find the blob without compiling.
bool is_cached(const BlobSpec& spec, const DirectOptions& options);

struct DirectEntry {
  std::string stem;
  std::string path;
  std::uint64_t size_bytes = 0;
};
// Sorted by stem. An empty list when there is no such folder.
absl::StatusOr<std::vector<DirectEntry>> list_direct(const std::string& cache_dir);

// False when there was none.
absl::StatusOr<bool> remove_direct(const std::string& cache_dir, const std::string& stem);

}  // namespace hearth::blobs
