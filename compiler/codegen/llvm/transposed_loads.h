// Square blocks that a kernel reads by columns: 8 or 16 vector loads whose lanes lie some elements apart, each one
// element after the other. They become as many loads of whole rows and a transposition in registers (unpack and
// shuffle, as every SIMD textbook has it), which is an eighth of the work of gathering.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/uop.h"
#include "llvm/IR/IRBuilder.h"

namespace hearth::codegen {

class TransposedLoads {
 public:
  struct Block {
    std::int64_t stride = 0;  // elements between rows
  };
  struct Place {
    const Block* block = nullptr;
    std::int64_t column = 0;
  };

  // `body`: of a linear kernel. Only loads of 32-bit elements from params that it does not store to, always on.
  explicit TransposedLoads(std::span<const ir::UOpRef> body);
  // The block that `load` is a column of, if any.
  std::optional<Place> find(ir::UOpRef load) const;

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
  std::unordered_map<ir::UOpRef, Place> places_;
};

// Columns of a square block of 8 or 16 rows.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::span<llvm::Value* const> rows);

}  // namespace hearth::codegen
