// Which files and folders a worker may read beside the system's, from what the daemon was told: blob libraries, the
// compilers that its environment names, the root and header folders of a blob. Links are followed: what a worker may
// read is decided by where a file is, not by how it is called.
//
// Neither the cache nor the user's home is given to a compiler: a tree that has one of them in it is left out, or
// refused where a request names it. Reads the file system; no state. Example:
//   command.runs = compiler_paths({.cache = cache_dir, .home = home});
//   absl::StatusOr<std::vector<ReadableTree>> trees = blob_paths(spec, {.cache = cache_dir, .home = home});
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "daemon/worker_pool/readable_tree.h"
#include "hearth/v1/blob.pb.h"

namespace hearth::daemon {

using Paths = std::vector<std::string>;

struct SecretFolders {
  std::string cache;  // nothing in it either
  std::string home;   // folders in it may be given
};

// `home` unless it is a system account's (/usr/sbin, /bin), which is no home: what lies there is everybody's.
SecretFolders secret_folders(const std::string& cache, const std::string& home);

// A library's folder and what the links in its upper two levels lead to: a library that was not installed yet is made
// of links.
Paths library_paths(const std::string& folder, const SecretFolders& secrets);

// PATH's folders, the programs that HEARTH_HIPCC, HEARTH_BLOB_CLANG and HEARTH_BLOB_CXX name, ROCm; with the trees that
// they were installed in.
Paths compiler_paths(const SecretFolders& secrets);

// INVALID_ARGUMENT when the blob's root has the cache or the home in it, or lies in the cache.
absl::Status check_blob_root(const v1::BlobSpec& spec, const SecretFolders& secrets);

// The blob's root, and what its flags name, as they are now. INVALID_ARGUMENT when the root has the cache or the home
// in it.
absl::StatusOr<std::vector<ReadableTree>> blob_paths(const v1::BlobSpec& spec, const SecretFolders& secrets);

}  // namespace hearth::daemon
