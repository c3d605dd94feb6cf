// Which failure of a wrapped model (hearth/jit_wrapper.h) a status stands for: the kinds of a JIT wrapper's errors.
// A status keeps its gRPC code and its text; the kind travels with it as a payload. Thread-safe.
//
//   absl::Status ran = jit.execute();
//   if (jit_error_kind(ran) == JitErrorKind::kNotPrepared) return ran;
#pragma once
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth::client {

enum class JitErrorKind {
  kNotPrepared,           // a per-step method of a wrapper that was never prepared, or was moved from
  kInputBufferNotFound,   // a declared input that the built graph does not read
  kDuplicateInputBuffer,  // the build body records an input of its own under a declared input's name
  kBuild,                 // the build body gave an error or threw: hearth/build_error.h has it as it was
  kTensor,                // a tensor op refused its arguments, in the build body or in the compiler's import
  kDevice,                // no daemon, no device, no memory, a deadline
  kOutputLayoutMismatch,  // JitRecurrent: the output is not head + state
  kRuntime,               // a replay was refused (unknown variable, value out of range, buffer too small) or its device
                          // failed, whose driver's words are in the text
};

// "NotPrepared", …
std::string_view to_string(JitErrorKind kind);

// The same status with its kind; "KIND: MESSAGE". An OK status or one that has a kind stays what it is.
absl::Status with_kind(JitErrorKind kind, const absl::Status& status);
// The same status as if it had none; its text still begins with the old one.
absl::Status without_kind(const absl::Status& status);
// Nothing for OK and for statuses of other parts.
std::optional<JitErrorKind> jit_error_kind(const absl::Status& status);

}  // namespace hearth::client
#pragma GCC visibility pop
