// The compile flags of a blob: which are let through, and what they become on this machine.
//
// A manifest may come from anywhere, and its flags reach a compiler. {root} is expanded first; then every option must
// be one that flag_rules.h allows, and every path it names must lie below the root or the compiler's own folders.
// -fvisibility=hidden is left out: a blob exports its function. Pure; thread-safe. Errors:
// InvalidArgument naming blob, flag and reason. Example:
//   absl::StatusOr<std::vector<std::string>> flags = usable_flags(spec, toolchain.compiler);  // {root} expanded
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "blobs/library/blob_spec.h"

namespace hearth::blobs {

// `compiler`: its absolute path, whose home is one of its own folders.
absl::StatusOr<std::vector<std::string>> usable_flags(const BlobSpec& spec, const std::string& compiler = {});

// Whether one of the flags sets the level of optimisation.
bool has_optimisation(const std::vector<std::string>& flags);

// `text` with every {root} replaced.
std::string expand_root(std::string_view text, std::string_view root);

}  // namespace hearth::blobs
