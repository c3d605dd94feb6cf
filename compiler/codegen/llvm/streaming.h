// Streaming stores: a result too large for any cache is written past the caches, which saves reading its lines first
// (non-temporal stores; Intel optimization manual, 7.4.1).
//
// They need addresses aligned to a whole vector. Positions are known to be; whether the buffer is, is known when the
// kernel runs: so such a kernel is two bodies and an entry that looks at the buffer's address.
#pragma once
#include <optional>

#include "compiler/codegen/llvm/target_machine.h"
#include "compiler/passes/lowered/linearize.h"
#include "llvm/IR/Module.h"

namespace hearth::codegen {

// The slot whose vector stores may stream: as large as `traits` ask for, written in whole vectors, never read, and no
// row of a kernel that keeps rows unless the target streams those. Nothing otherwise.
std::optional<std::uint32_t> streamed_slot(const passes::LinearKernel& kernel, const TargetTraits& traits);

// Whether a vector stored at scalar element `position` is aligned to its size when the buffer is.
bool is_vector_aligned(ir::UOpRef position, std::uint16_t lanes);

inline constexpr std::uint64_t kStreamAlignment = 64;  // bytes, of the buffer

// Makes `symbol`: calls `streaming` when the buffer of `slot` is aligned, else `cached`; both become internal.
void choose_at_entry(llvm::Module& module, const std::string& symbol, std::uint32_t slot, llvm::Function* streaming,
                     llvm::Function* cached);

}  // namespace hearth::codegen
