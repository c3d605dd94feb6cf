// What a compiler's end means: told apart by exit code, signal and the few phrases that compilers use for the rest.
//
// Pure; thread-safe. Errors are its results: DeadlineExceeded, ResourceExhausted (memory, size of output, disk),
// Internal (a crash, with the signal), FailedPrecondition (it says no) with the last lines that it said. Example:
//   HEARTH_RETURN_IF_ERROR(compile_failure("fmha_fwd_x", command, run));
#pragma once
#include <absl/status/status.h>

#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "blobs/tools/child_process.h"

namespace hearth::blobs {

absl::Status compile_failure(const std::string& stem, const ChildCommand& command, const ChildResult& run);

// The end of a text, from the beginning of a line, with the first "error:" line before it when that is cut off.
std::string last_lines(std::string_view text, std::size_t most_bytes);

}  // namespace hearth::blobs
