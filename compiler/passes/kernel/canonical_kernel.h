// The last two steps of a kernel's lowering: guards for what cannot be proved, and the canonical form, in which equal
// kernels have equal text.
#pragma once
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel_context.h"

namespace hearth::passes {

// passes/kernel/check_bounds with the sizes of `out.buffers`; fills `out.bounds`.
absl::StatusOr<ir::UOpRef> guard_bounds(const KernelContext& context, ir::UOpRef kernel, Kernel& out);

// The kernel's name, which begins with `kind` ("": by what it computes), and its axes, slots and variables numbered in
// order of appearance: fills `out.name`, `out.buffers` and `out.vars`.
ir::UOpRef renumber(const KernelContext& context, ir::UOpRef kernel, std::string_view kind, Kernel& out);

}  // namespace hearth::passes
