// Runs one pass of the pipeline on text: UOp text (import: a v1::Graph in protobuf text format) in, text out.
#pragma once
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::tests {

// import, canonicalize, rangeify, fuse, split, memory_plan, plan, "apply_opts LANES(axis,n) ...", prove_conditions,
// update_in_place (of slot 1; "elsewhere" where it cannot be), expand, guard_loads, decompose, simplify, lower_index,
// linearize.
absl::StatusOr<std::string> run_pass(std::string_view pass, const std::string& text);

}  // namespace hearth::tests
