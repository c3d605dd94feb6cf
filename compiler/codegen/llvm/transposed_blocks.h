// Blocks that a kernel reads or writes by columns: vector accesses whose lanes lie some elements apart, each one
// element after the other. They become as many accesses of whole rows and a transposition in registers (unpack and
// shuffle, as every SIMD textbook has it), which is an eighth of the work of gathering, and about half of scattering.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/uop.h"
#include "llvm/IR/IRBuilder.h"

namespace hearth::codegen {

class TransposedBlocks {
 public:
  struct Block {
    std::int64_t stride = 0;  // elements between rows
    std::size_t columns = 0;
  };
  struct Place {
    const Block* block = nullptr;
    std::int64_t column = 0;
  };

  // `body`: of a linear kernel. Only 32-bit elements of params, always on: loads of 4 columns and more, of 8 or 16
  // rows, from params that the kernel does not store to, stores of 2 columns and more to params that it does not load
  // from.
  explicit TransposedBlocks(std::span<const ir::UOpRef> body);
  // The block that a load or store is a column of, if any.
  std::optional<Place> find(ir::UOpRef access) const;

 private:
  void add_block(std::span<const ir::UOpRef> columns, std::int64_t stride);

  std::vector<std::unique_ptr<Block>> blocks_;
  std::unordered_map<ir::UOpRef, Place> places_;
};

// Four rows of 4, 8 or 16 lanes; chunk c (four lanes) of the m-th result is column 4c + m.
std::array<llvm::Value*, 4> transpose_chunks(llvm::IRBuilder<>& builder, const std::array<llvm::Value*, 4>& rows);
// Columns of a square block of 8 or 16 rows.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::span<llvm::Value* const> rows);

}  // namespace hearth::codegen
