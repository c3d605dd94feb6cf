// Where the daemon's cache lies when nothing says so, and what becomes of a folder that cannot be written. Reads the
// environment and the folders; makes nothing. Errors: INVALID_ARGUMENT where no place is left.
//
//   absl::StatusOr<CachePlace> place = find_cache_place(config.cache_dir, config.temp_dir);
//   // place->dir "/tmp/hearth-cache-54321", place->reason "no HOME, no passwd entry and no XDG_RUNTIME_DIR"
#pragma once
#include <string>

#include "absl/status/statusor.h"

namespace hearth::daemon {

struct CachePlace {
  std::string dir;            // where files are written
  std::string below;          // a cache that is read, too, but cannot be written; mostly empty
  std::string reason;         // which of the places it is, for people
  bool is_temporary = false;  // it may be gone with the session or the machine's next start
};

// The first that exists and can be written, or can be made:
//   1. `given`: --cache-dir or HEARTH_CACHE_DIR, whatever comes of it
//   2. $XDG_CACHE_HOME/hearth
//   3. $HOME/.cache/hearth; without a HOME the passwd entry's home
//   4. $XDG_RUNTIME_DIR/hearth-cache
//   5. `temp_dir`/hearth-cache-UID
// One of 1 to 3 that holds a cache and cannot be written is read, and what is new goes to a folder of its own in 4
// or 5.
absl::StatusOr<CachePlace> find_cache_place(const std::string& given, const std::string& temp_dir);

}  // namespace hearth::daemon
