#include "compiler/codegen/llvm/gpu_hooks.h"

#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/kernel_abi.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/TargetParser/Triple.h"

namespace hearth::codegen {
namespace {

// Address spaces of NVPTX and AMDGPU: device memory, and a workgroup's.
constexpr unsigned kGlobal = 1, kShared = 3;

class GpuHooks : public UnitHooks {
 public:
  GpuHooks(const passes::LinearKernel& kernel, llvm::Module& module, llvm::IRBuilder<>& builder, unsigned space)
      : kernel_(kernel),
        module_(module),
        b_(builder),
        num_buffers_(static_cast<unsigned>(kernel.num_buffers)),
        space_(space) {}

  llvm::Function* declare(const std::string& name) override {
    std::vector<llvm::Type*> arguments = {b_.getPtrTy(space_)};
    if (is_simt()) arguments.insert(arguments.end(), {b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()});
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), arguments, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    add_kernel_attributes(*function_);
    function_->getArg(0)->setName("row");
    add_row_attributes(*function_, 0);
    make_kernel(*function_);
    if (passes::workgroup_of(kernel_)) function_->removeFnAttr(llvm::Attribute::NoSync);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
    return function_;
  }

  llvm::Value* buffer(unsigned slot) override {
    llvm::Value* address = word(HEARTH_ROW_BUFFER(slot), absl::StrCat("address", slot));
    return b_.CreateIntToPtr(address, b_.getPtrTy(space_), absl::StrCat("buffer", slot));
  }

  llvm::LoadInst* variable(unsigned slot) override {
    return word(HEARTH_ROW_VAR(num_buffers_, slot), absl::StrCat("var", slot));
  }

  Grid grid(std::int64_t most) override { return {invocation(), units(most), invocations()}; }

  void enter_without_grid() override {
    llvm::LLVMContext& context = module_.getContext();
    llvm::Value* runs = b_.CreateICmpSGT(units(std::numeric_limits<std::int64_t>::max()), b_.getInt64(0));
    llvm::Value* is_first = b_.CreateICmpEQ(invocation(), b_.getInt64(0));
    auto* body = llvm::BasicBlock::Create(context, "first", function_);
    exit_ = llvm::BasicBlock::Create(context, "exit", function_);
    b_.CreateCondBr(b_.CreateAnd(runs, is_first), body, exit_);
    b_.SetInsertPoint(body);
  }
  void leave_without_grid() override {
    b_.CreateBr(exit_);
    if (&function_->back() != exit_) exit_->moveAfter(&function_->back());
    b_.SetInsertPoint(exit_);
  }

 protected:
  // Both have 64 bits.
  virtual llvm::Value* invocation() = 0;
  virtual llvm::Value* invocations() = 0;
  virtual void make_kernel(llvm::Function& function) = 0;
  virtual bool is_simt() const { return false; }

  const passes::LinearKernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<>& b_;
  llvm::Function* function_ = nullptr;

 private:
  llvm::LoadInst* word(unsigned place, const std::string& name) {
    llvm::Value* address = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), place);
    return invariant(b_.CreateAlignedLoad(b_.getInt64Ty(), address, llvm::Align(8), name), true);
  }

  llvm::Value* units(std::int64_t most) {
    llvm::LoadInst* load = word(HEARTH_ROW_UNITS, "units");
    if (most >= 0 && most < std::numeric_limits<std::int64_t>::max()) {
      const llvm::APInt low(64, 0), high(64, static_cast<std::uint64_t>(most) + 1);
      load->setMetadata(llvm::LLVMContext::MD_range, llvm::MDBuilder(module_.getContext()).createRange(low, high));
    }
    return load;
  }

  const unsigned num_buffers_, space_;
  llvm::BasicBlock* exit_ = nullptr;
};

// A kernel for workgroups of a constant number of invocations, of one dimension.
class WorkgroupHooks : public GpuHooks {
 public:
  WorkgroupHooks(const target::Target& target, const passes::LinearKernel& kernel, llvm::Module& module,
                 llvm::IRBuilder<>& builder)
      : GpuHooks(kernel, module, builder, kGlobal), workgroup_(passes::workgroup_of(kernel)) {
    size_ = workgroup_ ? static_cast<std::uint32_t>(workgroup_->bounds.max + 1) : target.workgroup_size();
  }

  llvm::Value* local_invocation() override { return wide(local()); }
  // Not a variable of its address space's null: LLVM's memory there has no initial value.
  llvm::Value* shared_memory(llvm::Type* type, const std::string& name) override {
    auto* memory = new llvm::GlobalVariable(module_, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
                                            llvm::PoisonValue::get(type), name, /*InsertBefore=*/nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kShared);
    memory->setAlignment(llvm::Align(16));
    return memory;
  }

 protected:
  // Whose unit is the workgroup's.
  llvm::Value* invocation() override {
    if (workgroup_) return wide(workgroup());
    return b_.CreateAdd(b_.CreateMul(wide(workgroup()), b_.getInt64(size_)), wide(local()), "invocation");
  }
  llvm::Value* invocations() override {
    if (workgroup_) return wide(workgroups());
    return b_.CreateMul(wide(workgroups()), b_.getInt64(size_), "invocations");
  }
  // Unsigned numbers of 32 bits.
  virtual llvm::Value* workgroup() = 0;
  virtual llvm::Value* workgroups() = 0;
  virtual llvm::Value* local() = 0;

  // `value` has 32 bits.
  virtual llvm::Value* exchange_word(llvm::Value* value, std::uint32_t mask) = 0;
  llvm::Value* exchange(llvm::Value* value, std::uint32_t mask) override {
    llvm::Type* const type = value->getType();
    const unsigned bits = type->getScalarSizeInBits();
    if (type->isVectorTy() || (bits != 32 && bits != 64)) return nullptr;
    llvm::Type* const i32 = b_.getInt32Ty();
    if (bits == 32) return b_.CreateBitCast(exchange_word(b_.CreateBitCast(value, i32), mask), type);
    llvm::Value *words = b_.CreateBitCast(value, vector(i32, 2)), *taken = llvm::PoisonValue::get(vector(i32, 2));
    for (unsigned i = 0; i < 2; ++i)
      taken = b_.CreateInsertElement(taken, exchange_word(b_.CreateExtractElement(words, i), mask), i);
    return b_.CreateBitCast(taken, type);
  }
  static unsigned lanes_of(llvm::Value* value) {
    return llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  }
  static llvm::Type* vector(llvm::Type* element, unsigned lanes) { return llvm::FixedVectorType::get(element, lanes); }
  llvm::Value* wide(llvm::Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }
  llvm::Value* call(llvm::Intrinsic::ID id) { return b_.CreateIntrinsic(id, {}, {}); }

  const ir::UOpRef workgroup_;
  std::uint32_t size_ = 1;
};

class NvptxHooks final : public WorkgroupHooks {
 public:
  using WorkgroupHooks::WorkgroupHooks;

 private:
  void make_kernel(llvm::Function& function) override {
    function.setCallingConv(llvm::CallingConv::PTX_Kernel);
    llvm::NamedMDNode* annotations = module_.getOrInsertNamedMetadata("nvvm.annotations");
    const auto add = [&](const char* what, std::uint32_t value) {
      llvm::LLVMContext& context = module_.getContext();
      annotations->addOperand(
          llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
                                      llvm::ConstantAsMetadata::get(b_.getInt32(value))}));
    };
    add("kernel", 1);
    add("reqntidx", size_);
    add("reqntidy", 1);
    add("reqntidz", 1);
  }
  llvm::Value* workgroup() override { return call(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x); }
  llvm::Value* workgroups() override { return call(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x); }
  llvm::Value* local() override { return call(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x); }
  void barrier(std::uint32_t) override { call(llvm::Intrinsic::nvvm_barrier0); }
  llvm::Value* exchange_word(llvm::Value* value, std::uint32_t mask) override {
    llvm::Value *const all = b_.getInt32(~0u), *const whole = b_.getInt32(31);  // invocations; of one segment
    return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {}, {all, value, b_.getInt32(mask), whole});
  }
  llvm::Value* multiply(ir::UOpRef wmma, llvm::Value* a, llvm::Value* b, llvm::Value* sums, const Widen&) override {
    const ir::MatrixLayout layout = wmma->as<ir::WmmaInfo>().layout;
    if (layout != ir::MatrixLayout::MmaSync16 && layout != ir::MatrixLayout::MmaSync8) return nullptr;
    const bool are_bytes = layout == ir::MatrixLayout::MmaSync8;
    const bool is_half = wmma->source(0)->dtype.scalar == ir::Scalar::F16;
    llvm::Type* const pair = is_half ? vector(b_.getHalfTy(), 2) : b_.getInt32Ty();
    std::vector<llvm::Value*> arguments;
    for (llvm::Value* fragment : {a, b}) {
      const unsigned words = lanes_of(fragment) / (are_bytes ? 4 : 2);
      llvm::Value* of_words = b_.CreateBitCast(fragment, vector(b_.getInt32Ty(), words));
      for (unsigned i = 0; i < words; ++i)
        arguments.push_back(b_.CreateBitCast(b_.CreateExtractElement(of_words, i), pair));
    }
    for (unsigned i = 0; i < lanes_of(sums); ++i) arguments.push_back(b_.CreateExtractElement(sums, i));
    const auto of_bytes = [&] {
      const bool is_signed[] = {ir::is_signed_int(wmma->source(0)->dtype), ir::is_signed_int(wmma->source(1)->dtype)};
      if (is_signed[0])
        return is_signed[1] ? llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8
                            : llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8;
      return is_signed[1] ? llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8
                          : llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_u8;
    };
    llvm::Value* parts = b_.CreateIntrinsic(are_bytes ? of_bytes()
                                            : is_half ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                                      : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16,
                                            {}, arguments);
    for (unsigned i = 0; i < lanes_of(sums); ++i)
      sums = b_.CreateInsertElement(sums, b_.CreateExtractValue(parts, i), i);
    return sums;
  }
};

class AmdgpuHooks final : public WorkgroupHooks {
 public:
  using WorkgroupHooks::WorkgroupHooks;

 private:
  void make_kernel(llvm::Function& function) override {
    function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    function.addFnAttr("amdgpu-flat-work-group-size", absl::StrCat(size_, ",", size_));
    function.addFnAttr("uniform-work-group-size", "true");
  }
  // Four of them in each word.
  llvm::Value* multiply_bytes(ir::UOpRef wmma, llvm::Value* a, llvm::Value* b, llvm::Value* sums) {
    llvm::Value* const none = b_.getInt32(0);  // no broadcast of blocks
    const ir::MatrixLayout layout = wmma->as<ir::WmmaInfo>().layout;
    if (layout == ir::MatrixLayout::Mfma16 || layout == ir::MatrixLayout::Mfma8) {
      llvm::Type* const whole = b_.getIntNTy(8 * lanes_of(a));
      return b_.CreateIntrinsic(layout == ir::MatrixLayout::Mfma8 ? llvm::Intrinsic::amdgcn_mfma_i32_16x16x32_i8
                                                                  : llvm::Intrinsic::amdgcn_mfma_i32_16x16x16i8,
                                {}, {b_.CreateBitCast(a, whole), b_.CreateBitCast(b, whole), sums, none, none, none});
    }
    if (layout != ir::MatrixLayout::WmmaGfx11 && layout != ir::MatrixLayout::WmmaGfx12) return nullptr;
    llvm::Type* const words = vector(b_.getInt32Ty(), lanes_of(a) / 4);
    const auto is_signed = [&](int side) { return b_.getInt1(ir::is_signed_int(wmma->source(side)->dtype)); };
    return b_.CreateIntrinsic(
        llvm::Intrinsic::amdgcn_wmma_i32_16x16x16_iu8, {sums->getType(), words},
        {is_signed(0), b_.CreateBitCast(a, words), is_signed(1), b_.CreateBitCast(b, words), sums, b_.getInt1(false)});
  }
  llvm::Value* workgroup() override { return call(llvm::Intrinsic::amdgcn_workgroup_id_x); }
  // hidden_block_count_x, which whoever launches the kernel fills in by the code object's notes.
  llvm::Value* workgroups() override {
    llvm::Value* hidden = call(llvm::Intrinsic::amdgcn_implicitarg_ptr);
    return invariant(b_.CreateAlignedLoad(b_.getInt32Ty(), hidden, llvm::Align(4), "workgroups"), true);
  }
  llvm::Value* local() override { return call(llvm::Intrinsic::amdgcn_workitem_id_x); }
  // By bytes of the other's number; the instruction looks at those within the wave alone.
  llvm::Value* exchange_word(llvm::Value* value, std::uint32_t mask) override {
    llvm::Value* other = b_.CreateShl(b_.CreateXor(local(), b_.getInt32(mask)), 2);
    return b_.CreateIntrinsic(llvm::Intrinsic::amdgcn_ds_bpermute, {}, {other, value});
  }
  // The instruction waits for invocations, the fences for their memory.
  void barrier(std::uint32_t) override {
    const llvm::SyncScope::ID scope = module_.getContext().getOrInsertSyncScopeID("workgroup");
    b_.CreateFence(llvm::AtomicOrdering::Release, scope);
    call(llvm::Intrinsic::amdgcn_s_barrier);
    b_.CreateFence(llvm::AtomicOrdering::Acquire, scope);
  }
  llvm::Value* multiply(ir::UOpRef wmma, llvm::Value* a, llvm::Value* b, llvm::Value* sums, const Widen&) override {
    const bool is_half = wmma->source(0)->dtype.scalar == ir::Scalar::F16;
    if (is_half) {
      a = b_.CreateBitCast(a, vector(b_.getHalfTy(), lanes_of(a)));
      b = b_.CreateBitCast(b, vector(b_.getHalfTy(), lanes_of(b)));
    }
    if (ir::is_int(wmma->source(0)->dtype)) return multiply_bytes(wmma, a, b, sums);
    switch (wmma->as<ir::WmmaInfo>().layout) {
      case ir::MatrixLayout::Mfma16: {
        llvm::Value* const none = b_.getInt32(0);  // no broadcast of blocks
        return b_.CreateIntrinsic(
            is_half ? llvm::Intrinsic::amdgcn_mfma_f32_16x16x16f16 : llvm::Intrinsic::amdgcn_mfma_f32_16x16x16bf16_1k,
            {}, {a, b, sums, none, none, none});
      }
      case ir::MatrixLayout::WmmaGfx11:
      case ir::MatrixLayout::WmmaGfx12:
        return b_.CreateIntrinsic(
            is_half ? llvm::Intrinsic::amdgcn_wmma_f32_16x16x16_f16 : llvm::Intrinsic::amdgcn_wmma_f32_16x16x16_bf16,
            {sums->getType(), a->getType()}, {a, b, sums});
      default:
        return nullptr;
    }
  }
};

class SimtHooks final : public GpuHooks {
 public:
  SimtHooks(const passes::LinearKernel& kernel, llvm::Module& module, llvm::IRBuilder<>& builder)
      : GpuHooks(kernel, module, builder, 0) {}

 private:
  bool is_simt() const override { return true; }
  void make_kernel(llvm::Function& function) override {
    function.getArg(1)->setName("unit");
    function.getArg(2)->setName("units_at_a_time");
    function.getArg(3)->setName("workgroup");
    if (!passes::workgroup_of(kernel_)) return;
    shared_bytes_ =
        new llvm::GlobalVariable(module_, b_.getInt64Ty(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                 b_.getInt64(0), function.getName() + HEARTH_SIMT_SHARED_BYTES);
  }
  llvm::Value* invocation() override { return function_->getArg(1); }
  llvm::Value* invocations() override { return function_->getArg(2); }

  llvm::Value* local_invocation() override {
    return field(b_.getInt64Ty(), offsetof(hearth_simt_workgroup, invocation));
  }
  llvm::Value* shared_memory(llvm::Type* type, const std::string& name) override {
    constexpr std::uint64_t kAlignment = 64;
    llvm::Value* base = field(b_.getPtrTy(), offsetof(hearth_simt_workgroup, shared));
    llvm::Value* memory = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, next_shared_, name);
    const std::uint64_t bytes = module_.getDataLayout().getTypeAllocSize(type);
    next_shared_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    shared_bytes_->setInitializer(b_.getInt64(next_shared_));
    return memory;
  }
  void barrier(std::uint32_t id) override {
    llvm::Value* workgroup = function_->getArg(3);
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
    b_.CreateCall(type, field(b_.getPtrTy(), offsetof(hearth_simt_workgroup, barrier)), {workgroup, b_.getInt64(id)});
  }

  llvm::Value* exchange(llvm::Value* value, std::uint32_t mask) override {
    llvm::Type *const own = value->getType(), *const number = b_.getInt64Ty();
    llvm::Type* const word = b_.getIntNTy(own->getScalarSizeInBits());
    llvm::Value* sent = b_.CreateZExt(b_.CreateBitCast(value, word), number);
    auto* type = llvm::FunctionType::get(number, {b_.getPtrTy(), number, number, number}, false);
    llvm::Value* taken = b_.CreateCall(type, field(b_.getPtrTy(), offsetof(hearth_simt_workgroup, exchange)),
                                       {function_->getArg(3), b_.getInt64(next_place()), b_.getInt64(mask), sent});
    return b_.CreateBitCast(b_.CreateTrunc(taken, word), own);
  }
  llvm::Value* multiply(ir::UOpRef wmma, llvm::Value* a, llvm::Value* b, llvm::Value* sums,
                        const Widen& wide) override {
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    const auto in_memory = [&](llvm::Value* value) {
      llvm::Value* memory = at_entry.CreateAlloca(value->getType());
      b_.CreateStore(value, memory);
      return memory;
    };
    // The stand-in multiplies floats, in which products of bytes and a unit's sums of them are exact.
    const bool are_bytes = ir::is_int(wmma->source(0)->dtype);
    const auto floats_like = [&](llvm::Value* value) {
      const auto* const type = llvm::cast<llvm::FixedVectorType>(value->getType());
      return llvm::FixedVectorType::get(b_.getFloatTy(), type->getNumElements());
    };
    llvm::Type* const floats = floats_like(sums);
    const auto widened = [&](llvm::Value* value, int side) {
      if (!are_bytes) return wide(value);
      llvm::Type* const type = floats_like(value);
      return ir::is_signed_int(wmma->source(side)->dtype) ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
    };
    llvm::Value *left = in_memory(widened(a, 0)), *right = in_memory(widened(b, 1)),
                *result = in_memory(are_bytes ? llvm::Constant::getNullValue(floats) : sums);
    llvm::Type *pointer = b_.getPtrTy(), *number = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, number, number, pointer, pointer, pointer}, false);
    const auto layout = static_cast<std::uint64_t>(wmma->as<ir::WmmaInfo>().layout);
    b_.CreateCall(type, field(pointer, offsetof(hearth_simt_workgroup, multiply)),
                  {function_->getArg(3), b_.getInt64(next_place()), b_.getInt64(layout), left, right, result});
    if (!are_bytes) return b_.CreateLoad(sums->getType(), result);
    return b_.CreateAdd(sums, b_.CreateFPToSI(b_.CreateLoad(floats, result), sums->getType()));
  }

  // The memory of the next thing that waits for other invocations as a barrier does.
  std::uint64_t next_place() { return kBetweenUnits - 1 - num_places_++; }

  // At the function's entry: of the launch.
  llvm::Value* field(llvm::Type* type, std::uint64_t offset) {
    llvm::Value* place = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(3), offset);
    return b_.CreateAlignedLoad(type, place, llvm::Align(8));
  }

  llvm::GlobalVariable* shared_bytes_ = nullptr;
  std::uint64_t num_places_ = 0;
  std::uint64_t next_shared_ = 0;
};

}  // namespace

std::unique_ptr<UnitHooks> gpu_hooks(const target::Target& target, const passes::LinearKernel& kernel,
                                     llvm::Module& module, llvm::IRBuilder<>& builder) {
  const llvm::Triple triple(target.record().triple());
  if (triple.isNVPTX()) return std::make_unique<NvptxHooks>(target, kernel, module, builder);
  if (triple.isAMDGPU()) return std::make_unique<AmdgpuHooks>(target, kernel, module, builder);
  return std::make_unique<SimtHooks>(kernel, module, builder);
}

}  // namespace hearth::codegen
