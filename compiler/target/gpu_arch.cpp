#include "compiler/target/gpu_arch.h"

namespace hearth::target {
namespace {

// The GPUs that LLVM 19 knows. NVIDIA's later ones run the PTX of sm_90; AMD's generic names stand for a family from
// code object version 6 on.
constexpr GpuArch kArchs[] = {
    {"cuda", "sm_70", ""},
    {"cuda", "sm_75", ""},
    {"cuda", "sm_80", "", ir::MatrixLayout::MmaSync16, ir::MatrixLayout::MmaSync8},
    {"cuda", "sm_86", "", ir::MatrixLayout::MmaSync16, ir::MatrixLayout::MmaSync8},
    {"cuda", "sm_89", "", ir::MatrixLayout::MmaSync16, ir::MatrixLayout::MmaSync8},
    {"cuda", "sm_90", "", ir::MatrixLayout::MmaSync16, ir::MatrixLayout::MmaSync8},
    {"cuda", "sm_90a", "", ir::MatrixLayout::MmaSync16, ir::MatrixLayout::MmaSync8},
    {"cuda", "sm_100", "LLVM 19 has no code for it; sm_90's runs on it"},
    {"cuda", "sm_100a", "LLVM 19 has no code for it; sm_90's runs on it"},
    {"cuda", "sm_120", "LLVM 19 has no code for it; sm_90's runs on it"},
    {"hip", "gfx90a", "", ir::MatrixLayout::Mfma16, ir::MatrixLayout::Mfma16},
    {"hip", "gfx942", "", ir::MatrixLayout::Mfma16, ir::MatrixLayout::Mfma8},
    {"hip", "gfx950", "it needs LLVM 20, and this build has LLVM 19"},
    {"hip", "gfx1100", "", ir::MatrixLayout::WmmaGfx11, ir::MatrixLayout::WmmaGfx11},
    {"hip", "gfx1101", "", ir::MatrixLayout::WmmaGfx11, ir::MatrixLayout::WmmaGfx11},
    {"hip", "gfx1102", "", ir::MatrixLayout::WmmaGfx11, ir::MatrixLayout::WmmaGfx11},
    {"hip", "gfx1103", "", ir::MatrixLayout::WmmaGfx11, ir::MatrixLayout::WmmaGfx11},
    {"hip", "gfx1200", "", ir::MatrixLayout::WmmaGfx12, ir::MatrixLayout::WmmaGfx12},
    {"hip", "gfx1201", "", ir::MatrixLayout::WmmaGfx12, ir::MatrixLayout::WmmaGfx12},
    {"hip", "gfx11-generic", "", ir::MatrixLayout::WmmaGfx11, ir::MatrixLayout::WmmaGfx11},
    {"hip", "gfx12-generic", "", ir::MatrixLayout::WmmaGfx12, ir::MatrixLayout::WmmaGfx12},
};

}  // namespace

const GpuArch* find_gpu_arch(std::string_view device, std::string_view name) {
  for (const GpuArch& arch : kArchs) {
    if (arch.device == device && arch.name == name) return &arch;
  }
  return nullptr;
}

std::string gpu_arch_names(std::string_view device) {
  std::string names;
  for (const GpuArch& arch : kArchs) {
    if (arch.device != device || !arch.unknown_to_llvm.empty()) continue;
    if (!names.empty()) names += ", ";
    names += arch.name;
  }
  return names;
}

}  // namespace hearth::target
