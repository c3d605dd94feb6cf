// The folder of a cache: made where it is missing, refused where its files could not be trusted: another user's, one
// that others write, one reached through a link of somebody else's, on a network, or with something else in it.
// Errors: FAILED_PRECONDITION or the system's, without the folder's name; nothing was changed then, but for folders
// that were missing. Example:
//   absl::Status usable = make_cache_folder(posix_file_system(), dir, /*allow_network=*/false);
#pragma once
#include <string>

#include "absl/status/status.h"
#include "kernels_cache/file_system.h"

namespace hearth::cache {

absl::Status make_cache_folder(FileSystem& file_system, const std::string& dir, bool allow_network);

// Makes `dir`, a usable cache folder, a copy of the index of the cache `below`, unless it is one already: its files are
// read where they lie (CasStore). `below` belongs to this user or to root, and nobody else can write it.
absl::Status lay_over(FileSystem& file_system, const std::string& below, const std::string& dir);

}  // namespace hearth::cache
