// LLVM code generator: a linear kernel body -> LLVM IR -> an ELF shared object of a processor, PTX of an NVIDIA GPU, or a
// code object (HSACO) of an AMD one, by the target's triple.
//
// Output depends on the arguments only: never on the host, the process, a path or the time. Nothing is detected: CPU
// features come from `target`. Safe to call from any thread (linking is serialised inside). An unknown triple or
// feature is INVALID_ARGUMENT, a malformed body INTERNAL naming the node; LLVM is initialised on first use.
//
//   absl::StatusOr<v1::Artifact> elf = codegen::compile(kernel, target, options);
//   // dlopen it, look up kernel.symbol: a hearth_kernel_fn of base/kernel_abi.h
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "compiler/passes/lowered/linearize.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::codegen {

// Text of the kernel's LLVM IR before LLVM's own optimisation: for golden tests and `explain`.
absl::StatusOr<std::string> emit_llvm_ir(const passes::LinearKernel& kernel, const v1::Target& target,
                                         const v1::CompileOptions& options);

// Assembly text of the optimised kernel: for `explain`.
absl::StatusOr<std::string> emit_assembly(const passes::LinearKernel& kernel, const v1::Target& target,
                                          const v1::CompileOptions& options);

// A shared object exports kernel.symbol and nothing else, and needs nothing beyond memcpy, memmove and memset; PTX and
// code objects have one kernel of that name and call nothing. options.opt_level 0 skips LLVM's optimisation.
absl::StatusOr<v1::Artifact> compile(const passes::LinearKernel& kernel, const v1::Target& target,
                                     const v1::CompileOptions& options);

// Its bytes.
absl::StatusOr<std::string> compile_cpu(const passes::LinearKernel& kernel, const v1::Target& target,
                                        const v1::CompileOptions& options);

}  // namespace hearth::codegen
