// The compile flags of a blob: which are let through, and what they become on this machine.
//
// A manifest may come from anywhere, and its flags reach a compiler: those that run programs, load plug-ins, write
// files other than the result or read arguments from files are refused by name, as is anything that is no flag (a
// second input). Include folders may lie anywhere. -fvisibility=hidden is left out: a blob exports its function.
// Pure functions; thread-safe. Errors: InvalidArgument naming blob, flag and reason. Example:
//   absl::StatusOr<std::vector<std::string>> flags = usable_flags(spec);  // {root} expanded
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/blobs/blob_spec.h"

namespace hearth::blobs {

absl::StatusOr<std::vector<std::string>> usable_flags(const BlobSpec& spec);

// Whether one of the flags sets the level of optimisation.
bool has_optimisation(const std::vector<std::string>& flags);

// `text` with every {root} replaced.
std::string expand_root(std::string_view text, std::string_view root);

}  // namespace hearth::blobs
