// Interpreter of linear kernel bodies (the form in compiler/passes/lowered/linearize.h): what generated code must do.
//
// Executes the list in order with a program counter. An accumulator rounds to its dtype at every update, as the
// generated code does. Errors: a value used before it is computed or outside its loop, an access outside its buffer,
// loops that are not nested, an op that the form does not allow. Not thread-safe.
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
