#include "compiler/codegen/llvm/unit_hooks.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/gpu_hooks.h"
#include "llvm/IR/ConstantRange.h"

namespace hearth::codegen {
namespace {

class CpuHooks final : public UnitHooks {
 public:
  CpuHooks(llvm::Module& module, llvm::IRBuilder<>& builder) : module_(module), b_(builder) {}

  llvm::Function* declare(const std::string& name) override {
    llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    add_kernel_attributes(*function_);
    const char* names[] = {"buffers", "vars", "grid_begin", "grid_end"};
    for (unsigned i = 0; i < 4; ++i) function_->getArg(i)->setName(names[i]);
    for (unsigned i = 0; i < 2; ++i) add_row_attributes(*function_, i);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
    return function_;
  }

  llvm::Value* buffer(unsigned slot) override {
    llvm::Type* ptr = b_.getPtrTy();
    llvm::Value* address = b_.CreateConstInBoundsGEP1_64(ptr, function_->getArg(0), slot);
    return invariant(b_.CreateAlignedLoad(ptr, address, llvm::Align(8), absl::StrCat("buffer", slot)), true);
  }

  llvm::LoadInst* variable(unsigned slot) override {
    llvm::Value* address = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(1), slot);
    return invariant(b_.CreateAlignedLoad(b_.getInt64Ty(), address, llvm::Align(8), absl::StrCat("var", slot)), false);
  }

  // The launch divides [0, size): both ends lie in it.
  Grid grid(std::int64_t most) override {
    if (most >= 0 && most < std::numeric_limits<std::int64_t>::max() - 1) {
      llvm::ConstantRange range(llvm::APInt(64, 0), llvm::APInt(64, static_cast<std::uint64_t>(most) + 1));
      for (unsigned arg : {2u, 3u})
        function_->addParamAttr(arg, llvm::Attribute::get(module_.getContext(), llvm::Attribute::Range, range));
    }
    return {function_->getArg(2), function_->getArg(3), b_.getInt64(1)};
  }

 private:
  llvm::Module& module_;
  llvm::IRBuilder<>& b_;
  llvm::Function* function_ = nullptr;
};

}  // namespace

void add_kernel_attributes(llvm::Function& function) {
  for (const llvm::Attribute::AttrKind kind :
       {llvm::Attribute::NoUnwind, llvm::Attribute::MustProgress, llvm::Attribute::WillReturn, llvm::Attribute::NoFree,
        llvm::Attribute::NoSync})
    function.addFnAttr(kind);
}

void add_row_attributes(llvm::Function& function, unsigned argument) {
  for (const llvm::Attribute::AttrKind kind :
       {llvm::Attribute::NoCapture, llvm::Attribute::NoUndef, llvm::Attribute::ReadOnly})
    function.addParamAttr(argument, kind);
}

llvm::LoadInst* invariant(llvm::LoadInst* load, bool is_defined) {
  llvm::MDNode* empty = llvm::MDNode::get(load->getContext(), {});
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
  if (is_defined) load->setMetadata(llvm::LLVMContext::MD_noundef, empty);
  return load;
}

std::unique_ptr<UnitHooks> hooks_for(const target::Target& target, const passes::LinearKernel& kernel,
                                     llvm::Module& module, llvm::IRBuilder<>& builder) {
  if (target.unit() == target::Unit::Invocation) return gpu_hooks(target, kernel, module, builder);
  return std::make_unique<CpuHooks>(module, builder);
}

}  // namespace hearth::codegen
