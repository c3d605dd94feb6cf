// The GPUs that kernels are compiled for by LLVM, by the names that its back ends have for them: LLVM goes on with a
// generic one where it does not know a name, so that what is not here is refused. Immutable; thread-safe.
//
//   const GpuArch* arch = find_gpu_arch("cuda", "sm_90a");   // null where it is not known
#pragma once
#include <string>
#include <string_view>

#include "compiler/ir/matrix_layout.h"

namespace hearth::target {

struct GpuArch {
  std::string_view device;  // v1::Target.device: "cuda", "hip"
  std::string_view name;    // "sm_80", "gfx942"
  // Why it cannot be compiled for; empty: it can.
  std::string_view unknown_to_llvm;
  // The layouts of the units that multiply small matrices of f16 and bf16, and of bytes; Whole: there is no such unit.
  ir::MatrixLayout matrix = ir::MatrixLayout::Whole, byte_matrix = ir::MatrixLayout::Whole;
};

const GpuArch* find_gpu_arch(std::string_view device, std::string_view name);
// "sm_70, sm_75, ..." of those that can be compiled for.
std::string gpu_arch_names(std::string_view device);

}  // namespace hearth::target
