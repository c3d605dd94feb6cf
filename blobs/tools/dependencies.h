// What a blob was made of: from a compiler's lists to Dependency values, and back to "is it still so?".
//
// A Dependency with an empty sha256_hex is a shadowing file (base/file_digest/include_shadowing.h): only one that appears later
// means that a compile might now find another header. `__has_include` of a missing file, .incbin and #embed are not
// seen. Thread-safe. Errors: those of reading. Example:
//   auto list = collect_dependencies(spec, usable_flags, folder, paths);
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "blobs/tools/blob_compiler.h"

namespace hearth::blobs {

// `paths` as the compiler wrote them, relative ones to `folder`. `flags` have {root} expanded.
absl::StatusOr<std::vector<Dependency>> collect_dependencies(const BlobSpec& spec,
                                                             const std::vector<std::string>& flags,
                                                             const std::string& folder,
                                                             const std::vector<std::string>& paths);

// Where a dependency is now.
std::string path_of(const Dependency& dependency, const BlobSpec& spec);

// Whether one of the files was written, or put in place, after that moment (files::file_clock_tick).
bool changed_since(std::int64_t moment_ns, const BlobSpec& spec, const std::vector<Dependency>& dependencies);

}  // namespace hearth::blobs
