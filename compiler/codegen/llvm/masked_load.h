// A load of the lanes that a mask selects, in pieces that fit the target's registers.
//
// LLVM 19 splits a masked load that is wider than a register after it has looked for masks that are never set: the half
// of a row's tail whose lanes are all off then becomes a plain load beyond the end of the buffer. So the pieces are
// made here, and one that no lane selects is no load at all.
#pragma once
#include <functional>

#include "llvm/IR/IRBuilder.h"

namespace hearth::codegen {

struct MaskedLoad {
  llvm::FixedVectorType* type;
  llvm::Value* pointer;
  llvm::Align align;
  llvm::Value* mask;       // <lanes x i1>
  llvm::Value* otherwise;  // of `type`: the lanes that are off
};

// register_bits: the widest vector that one masked load of these elements reads; 0 leaves the load whole, for targets
// on which LLVM splits it rightly (into scalar loads, or with mask registers). annotate sees each load that is made.
llvm::Value* emit_masked_load(llvm::IRBuilderBase& builder, const MaskedLoad& load, unsigned register_bits,
                              const std::function<void(llvm::Instruction*)>& annotate);

}  // namespace hearth::codegen
