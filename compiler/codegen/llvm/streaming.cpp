#include "compiler/codegen/llvm/streaming.h"

#include "compiler/codegen/llvm/kept_rows.h"
#include "compiler/ir/affine.h"
#include "llvm/IR/IRBuilder.h"

namespace hearth::codegen {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kMinVectorBytes = 32;

}  // namespace

bool is_vector_aligned(UOpRef position, std::uint16_t lanes) {
  if (position->dtype.lanes != 1) return false;
  const ir::Affine at = ir::to_affine(position);
  bool aligned = at.constant % lanes == 0;
  for (const ir::AffineTerm& term : at.terms) aligned &= term.coefficient % lanes == 0;
  return aligned;
}

std::optional<std::uint32_t> streamed_slot(const passes::LinearKernel& kernel, const TargetTraits& traits) {
  std::optional<std::uint32_t> slot;
  for (UOpRef node : kernel.body) {
    if (!node->is(Op::Store) || !node->source(0)->source(0)->is(Op::Param)) continue;
    UOpRef index = node->source(0), position = index->source(1);
    const ir::DType dtype = node->source(1)->dtype;
    const int bytes = byte_size(dtype.element());
    const std::int64_t last = position->bounds.max;
    const bool whole = dtype.lanes * bytes >= kMinVectorBytes && is_vector_aligned(position, dtype.lanes) &&
                       index->sources.back()->is_const();
    if (!whole || last < traits.least_streamed_bytes / bytes - dtype.lanes || last > INT64_MAX / 64) continue;
    slot = index->source(0)->as<ir::ParamInfo>().slot;
  }
  if (!slot) return slot;
  for (UOpRef node : kernel.body) {
    if (!node->is(Op::Load) || !node->source(0)->source(0)->is(Op::Param)) continue;
    if (node->source(0)->source(0)->as<ir::ParamInfo>().slot == *slot) return std::nullopt;
  }
  if (traits.streams_rows) return slot;
  // Rows that are kept first are asked for in time instead (kept_rows.h).
  for (const auto& [loop, writes] : KeptRows(kernel.body).written) {
    for (const KeptRows::Write& write : writes) {
      if (write.store->source(0)->source(0)->as<ir::ParamInfo>().slot == *slot) return std::nullopt;
    }
  }
  return slot;
}

void choose_at_entry(llvm::Module& module, const std::string& symbol, std::uint32_t slot, llvm::Function* streaming,
                     llvm::Function* cached) {
  for (llvm::Function* body : {streaming, cached}) {
    body->setLinkage(llvm::Function::InternalLinkage);
    body->addFnAttr(llvm::Attribute::NoInline);
  }
  llvm::LLVMContext& context = module.getContext();
  auto* entry = llvm::Function::Create(cached->getFunctionType(), llvm::Function::ExternalLinkage, symbol, module);
  entry->copyAttributesFrom(cached);
  entry->removeFnAttr(llvm::Attribute::NoInline);
  entry->removeFnAttr(llvm::Attribute::NoSync);  // it has a fence
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  llvm::Value* buffer = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), entry->getArg(0), slot));
  llvm::Value* low = b.CreateAnd(b.CreatePtrToInt(buffer, b.getInt64Ty()), kStreamAlignment - 1);
  auto* aligned = llvm::BasicBlock::Create(context, "aligned", entry);
  auto* other = llvm::BasicBlock::Create(context, "other", entry);
  b.CreateCondBr(b.CreateICmpEQ(low, b.getInt64(0)), aligned, other);
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : entry->args()) arguments.push_back(&argument);
  b.SetInsertPoint(aligned);
  b.CreateCall(streaming, arguments);
  // Streaming stores are ordered with nothing; whoever waits for this kernel must see them.
  b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  b.CreateRetVoid();
  b.SetInsertPoint(other);
  b.CreateCall(cached, arguments);
  b.CreateRetVoid();
}

}  // namespace hearth::codegen
