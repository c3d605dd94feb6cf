// What the compiler makes of a graph, as digests: equal before and after a change that should change no result.
//
//   absl::StatusOr<std::string> text = digests_of(graph, fixed_targets());   // "plan:code plan:code plan:code"
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::digests {

// The processors that have a name (runtime/devices), in the order of the list's columns.
std::vector<v1::Target> fixed_targets();

// By target, the first 16 hex digits of the SHA-256 of the lowered plan (kernels' texts included) and of all its
// artifacts, in the plan's order. Errors: the compiler's.
absl::StatusOr<std::string> digests_of(const v1::Graph& graph, const std::vector<v1::Target>& targets);

// What each pass made of each kernel, LLVM's IR and assembly last: for a difference that is not understood.
absl::StatusOr<std::string> texts_of(const v1::Graph& graph, const v1::Target& target);

// Artifacts are LLVM's work: those of another version differ.
std::string llvm_version();

}  // namespace hearth::digests
