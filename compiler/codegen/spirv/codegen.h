// SPIR-V code generator for Vulkan targets: a linear kernel body -> one module with the entry point "main", a compute
// shader of the GPU kernel ABI (base/kernel_abi.h). Output depends on the arguments only. Thread-safe.
//
// Errors: UNIMPLEMENTED names the op or type and the feature that the target lacks; INTERNAL for a malformed body, with
// the node, and for a module that SPIRV-Tools' validator refuses.
//
//   absl::StatusOr<std::string> module = spirv::compile(kernel, target);
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "compiler/passes/lowered/linearize.h"
#include "compiler/target/target.h"

namespace hearth::codegen::spirv {

// The module's words in this machine's order, validated.
absl::StatusOr<std::string> compile(const passes::LinearKernel& kernel, const target::Target& target);

// Its disassembly, validated or not.
absl::StatusOr<std::string> emit_text(const passes::LinearKernel& kernel, const target::Target& target);

}  // namespace hearth::codegen::spirv
