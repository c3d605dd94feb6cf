// Linear kernel body -> one LLVM function, whose signature is the target's (unit_hooks.h), straight from the list in one
// pass.
// INTERNAL names the node of a malformed body (use before definition, unclosed range, an op of an earlier stage).
//
//   Emitter emitter(kernel, module, target, {.fast_math = options.fast_math()});
//   absl::Status status = emitter.run();
#pragma once
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "compiler/codegen/llvm/arithmetic.h"
#include "compiler/codegen/llvm/kept_rows.h"
#include "compiler/codegen/llvm/transposed_blocks.h"
#include "compiler/codegen/llvm/unit_hooks.h"
#include "compiler/ir/affine.h"
#include "compiler/passes/lowered/linearize.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace hearth::codegen {

class Emitter {
 public:
  struct Options {
    bool fast_math = false;
    std::string suffix;                        // of the function's name, after the kernel's symbol
    std::optional<std::uint32_t> stream_slot;  // whose aligned vectors are stored past the caches
  };

  struct On {
    const target::Target& target;
    const TargetTraits& traits;
  };
  Emitter(const passes::LinearKernel& kernel, llvm::Module& module, const On& on, Options options);
  absl::Status run();
  llvm::Function* function() const { return function_; }

 private:
  using Value = llvm::Value;

  struct Slot {  // one kernel buffer
    Value* pointer = nullptr;
    ir::DType element;
    bool used = false, stored = false;
    llvm::MDNode *scope = nullptr, *others = nullptr;
  };
  struct Loop {
    ir::UOpRef range;
    llvm::BasicBlock *header, *exit;
    llvm::PHINode* counter;
    Value* step;
    bool holds_loop = false, has_barrier = false;
    std::uint32_t updates = 0;  // of accumulators, in the loop itself
  };
  struct Access {  // a resolved index
    const Slot* slot;
    Value* position;
    Value* gate;  // null: always
  };

  absl::Status prologue();
  absl::Status emit(ir::UOpRef node);
  absl::Status open_range(ir::UOpRef node);
  absl::Status close_range(ir::UOpRef node);
  absl::Status accumulate(ir::UOpRef node);
  absl::StatusOr<Value*> sum_of(ir::UOpRef wmma, Value* a, Value* b, Value* sum);
  absl::Status declare_allocation(ir::UOpRef node);
  absl::StatusOr<Access> access_of(ir::UOpRef index);
  absl::Status load(ir::UOpRef node);
  void prefetch_written();
  bool is_new_line(ir::UOpRef param, const ir::Affine& position, std::int64_t line);
  void emit_prefetch(const Slot& slot, Value* position, bool to_write, int locality);
  void prefetch(ir::UOpRef index, const Access& access, ir::DType dtype);
  std::int64_t reduced_ahead(const ir::Affine& position, std::uint16_t lanes, std::int64_t line) const;
  Value* address_or_zero(const Access& access, ir::UOpRef load);
  std::int64_t step_of_run(ir::UOpRef load) const;
  llvm::GlobalVariable* zeros(bool is_row);
  absl::Status store(ir::UOpRef node);
  absl::Status gather_lanes(ir::UOpRef node);  // stack

  absl::StatusOr<Value*> value(ir::UOpRef node);
  Value* element_pointer(const Access& access, bool in_bounds);
  Value* transposed(const TransposedBlocks::Place& place, const Access& access, ir::UOpRef load);
  void store_transposed(const TransposedBlocks::Place& place, const Access& access, ir::UOpRef store, Value* stored);
  std::vector<Value*> lane_pointers(ir::UOpRef position, const Access& access);
  Value* mask(const Access& access, unsigned lanes);
  void annotate(llvm::Instruction* instruction, const Slot& slot);
  void annotate_load(llvm::Instruction* instruction, const Slot& slot);
  absl::Status malformed(ir::UOpRef node, const std::string& reason) const;

  const passes::LinearKernel& kernel_;
  const ir::UOpRef workgroup_ = passes::workgroup_of(kernel_);  // null: units are threads' shares, or invocations
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const Options options_;
  const std::unique_ptr<UnitHooks> hooks_;
  Arithmetic arithmetic_;
  llvm::Function* function_ = nullptr;
  std::vector<Slot> slots_;
  std::unordered_map<ir::UOpRef, Slot> allocations_;
  std::unordered_map<std::uint32_t, std::pair<llvm::Value*, llvm::Type*>>
      allocated_memory_;  // by AllocationInfo::memory
  std::vector<Loop> loops_;
  std::unordered_set<ir::UOpRef> only_summed_;     // wmmas whose only users add them to accumulators
  std::unordered_set<ir::UOpRef> only_splat_;      // scalar loads whose only users make vectors of them
  std::unordered_map<ir::UOpRef, Value*> values_;  // null: a node without a value (end, index, store)
  const TransposedBlocks transposed_;
  const KeptRows kept_;
  const TargetTraits traits_;
  std::unordered_map<const TransposedBlocks::Block*, std::vector<Value*>>
      columns_;  // of blocks: loaded, or to be stored
  // Param, innermost loop, terms of the position and line: what is asked for already.
  std::set<std::tuple<ir::UOpRef, ir::UOpRef, std::vector<std::pair<std::uint32_t, std::int64_t>>, std::int64_t>>
      prefetched_;
  bool has_grid_ = false;           // it is open, or was
  bool has_shared_memory_ = false;  // of a workgroup
};

}  // namespace hearth::codegen
