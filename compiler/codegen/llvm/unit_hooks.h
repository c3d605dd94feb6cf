// UnitHooks: how a kernel's function meets its launch: its signature, where it finds its buffers and variables, and
// which units of the grid one call computes. One object for each function that is emitted; everything else of the
// emitter is the same for all targets. Whoever emits calls declare() first. No errors.
//
//   CPU     (buffers, vars, begin, end): a thread's share of the units (hearth_kernel_fn of runtime/kernel_abi.h)
//   NVPTX, AMDGPU   a kernel of one argument, the row of its launch: an invocation takes units in strides of all
//   simt    the same for a processor, which is given the invocation and how many there are (hearth_simt_fn)
//
//   std::unique_ptr<UnitHooks> hooks = hooks_for(target, kernel, module, builder);
//   llvm::Function* function = hooks->declare(kernel.symbol);
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "compiler/passes/lowered/linearize.h"
#include "compiler/target/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace hearth::codegen {

class UnitHooks {
 public:
  // for (i = begin; i < end; i += step)
  struct Grid {
    llvm::Value *begin, *end, *step;
  };

  virtual ~UnitHooks() = default;
  // Makes the function; the builder stands in its entry block.
  virtual llvm::Function* declare(const std::string& name) = 0;
  virtual llvm::Value* buffer(unsigned slot) = 0;
  virtual llvm::LoadInst* variable(unsigned slot) = 0;
  // A grid of at most `most` units.
  virtual Grid grid(std::int64_t most) = 0;
  // Where units are workgroups (passes::workgroup_of): the invocation's number in its own, of 64 bits; memory
  // that a workgroup has together, undefined at first; and the barrier that orders what is done there. Null where the
  // target has none.
  virtual llvm::Value* local_invocation() { return nullptr; }
  virtual llvm::Value* shared_memory(llvm::Type* type, const std::string& name) { return nullptr; }
  virtual void barrier(std::uint32_t id) {}
  static constexpr std::uint32_t kBetweenUnits = ~0u;  // a barrier that the emitter adds
  // `sums` plus the product of a subgroup's matrices, of which `a` and `b` are the invocation's fragments, 16 bits each;
  // null where the target has no such unit. `wide` makes f32 of them.
  using Widen = std::function<llvm::Value*(llvm::Value*)>;
  virtual llvm::Value* multiply(ir::UOpRef wmma, llvm::Value* a, llvm::Value* b, llvm::Value* sums, const Widen& wide) {
    return nullptr;
  }
  // What the invocation of the subgroup has whose number is this one's xor `mask`, of 32 or 64 bits; likewise null.
  virtual llvm::Value* exchange(llvm::Value* value, std::uint32_t mask) { return nullptr; }
  // Around the body of a kernel without a grid, which one call alone computes.
  virtual void enter_without_grid() {}
  virtual void leave_without_grid() {}
};

std::unique_ptr<UnitHooks> hooks_for(const target::Target& target, const passes::LinearKernel& kernel,
                                     llvm::Module& module, llvm::IRBuilder<>& builder);

}  // namespace hearth::codegen
