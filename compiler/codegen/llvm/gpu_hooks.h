// Kernels whose units are invocations: one argument is the row of the launch (runtime/kernel_abi.h), and invocation i
// takes units i, i + all, i + 2 all, ... What NVPTX, AMDGPU and a processor that stands in for them (simt) differ in is
// the function's form, the address space of memory, and how an invocation learns which it is.
#pragma once
#include "compiler/codegen/llvm/unit_hooks.h"

namespace hearth::codegen {

// By the triple of the target's record.
std::unique_ptr<UnitHooks> gpu_hooks(const target::Target& target, const passes::LinearKernel& kernel,
                                     llvm::Module& module, llvm::IRBuilder<>& builder);

// What holds for every kernel: it returns, and neither throws, frees nor waits.
void add_kernel_attributes(llvm::Function& function);
// What holds for an argument that points to the launch's row.
void add_row_attributes(llvm::Function& function, unsigned argument);
// A load of what no kernel writes; `is_defined`: never undef.
llvm::LoadInst* invariant(llvm::LoadInst* load, bool is_defined);

}  // namespace hearth::codegen
