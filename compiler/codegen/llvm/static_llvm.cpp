// What LLVM's archives ask for and a worker for x86 and AArch64 does not use: the linker's driver initialises every
// back end that LLVM was built with, and the passes ask for Polly's plug-in. Only in programs that have LLVM in
// themselves.
#include <llvm/Passes/PassPlugin.h>

// NOLINTBEGIN: LLVM's names
extern "C" {
#define HEARTH_NO_BACK_END(target)             \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}   \
  void LLVMInitialize##target##AsmPrinter() {} \
  void LLVMInitialize##target##AsmParser() {}  \
  void LLVMInitialize##target##Disassembler() {}
HEARTH_NO_BACK_END(AMDGPU)
HEARTH_NO_BACK_END(ARM)
HEARTH_NO_BACK_END(AVR)
HEARTH_NO_BACK_END(BPF)
HEARTH_NO_BACK_END(Hexagon)
HEARTH_NO_BACK_END(Lanai)
HEARTH_NO_BACK_END(LoongArch)
HEARTH_NO_BACK_END(Mips)
HEARTH_NO_BACK_END(MSP430)
HEARTH_NO_BACK_END(NVPTX)
HEARTH_NO_BACK_END(PowerPC)
HEARTH_NO_BACK_END(RISCV)
HEARTH_NO_BACK_END(Sparc)
HEARTH_NO_BACK_END(SystemZ)
HEARTH_NO_BACK_END(VE)
HEARTH_NO_BACK_END(WebAssembly)
HEARTH_NO_BACK_END(XCore)
HEARTH_NO_BACK_END(M68k)
HEARTH_NO_BACK_END(Xtensa)
#undef HEARTH_NO_BACK_END
}  // extern "C"

llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }
// NOLINTEND
