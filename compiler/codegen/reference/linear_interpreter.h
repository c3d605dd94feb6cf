// Interpreter of linear kernel bodies (the form in compiler/passes/lowered/linearize.h): what generated code must do.
//
// Errors: those of linear_machine.h. A workgroup has one invocation here; workgroup_interpreter.h runs several. Not
// thread-safe.
//
//   absl::Status status = interpret_linear(kernel.body, {buffers, vars, GridPart{0, 4}});
#pragma once
#include <span>

#include "absl/status/status.h"
#include "compiler/codegen/reference/kernel_memory.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

absl::Status interpret_linear(std::span<const ir::UOpRef> body, const KernelRun& run);

}  // namespace hearth::codegen::reference
