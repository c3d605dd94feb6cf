// What a blob was made of: from a compiler's lists to Dependency values, and back to "is it still so?".
//
// A Dependency with an empty sha256_hex is a file that was there, lies earlier on a search path than a header of the
// same name, and was not used: only one that appears later means that a compile would now find another header.
// `__has_include` of a missing file, .incbin and #embed are not seen. Thread-safe. Errors: those of reading. Example:
//   auto made_of = collect_dependencies(spec, usable_flags, folder, paths);
#pragma once
#include <absl/status/statusor.h>

#include <set>
#include <string>
#include <vector>

#include "compiler/blobs/blob_compiler.h"

namespace hearth::blobs {

// `paths` as the compiler wrote them, relative ones to `folder`. `flags` have {root} expanded.
absl::StatusOr<std::vector<Dependency>> collect_dependencies(const BlobSpec& spec,
                                                             const std::vector<std::string>& flags,
                                                             const std::string& folder,
                                                             const std::vector<std::string>& paths);

// Where a dependency is now.
std::string path_of(const Dependency& dependency, const BlobSpec& spec);

// The time of the file system's clock; later writes get later times once it has moved on, for which this waits (4 ms).
std::int64_t file_clock_tick();
// Whether one of the files was written, or put in place, after that moment.
bool changed_since(std::int64_t moment_ns, const BlobSpec& spec, const std::vector<Dependency>& dependencies);

}  // namespace hearth::blobs
