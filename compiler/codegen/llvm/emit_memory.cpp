// Loads and stores of Emitter: plain, gated, masked, gathered and scattered.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/llvm/lane_offsets.h"
#include "compiler/codegen/llvm/masked_load.h"
#include "compiler/codegen/llvm/streaming.h"
#include "compiler/ir/affine.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::UOpRef;

namespace {
constexpr const char *kZeros = "zeros", *kZeroRow = "zero_row";
constexpr std::int64_t kZeroBytes = 64;       // of these: a vector
constexpr std::int64_t kZeroRowBytes = 2048;  // what a loop reads of an image's row of channels

bool depends_on(UOpRef value, UOpRef loop) {
  const std::vector<UOpRef> nodes = ir::toposort(value);
  return std::ranges::find(nodes, loop) != nodes.end();
}

}  // namespace

// On the stack, so that every thread has its own; small enough for any stack (passes/kernel/materialize_row_values). Of
// a workgroup together, unless it belongs to one invocation.
absl::Status Emitter::declare_allocation(UOpRef node) {
  const auto& info = node->as<ir::AllocationInfo>();
  const auto elements = static_cast<std::uint64_t>(info.elements);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Type* type = llvm::ArrayType::get(arithmetic_.memory_type(node->dtype.element()), elements);
  auto& [memory, has_type] = allocated_memory_[info.memory];
  if (memory == nullptr) {
    const std::string name = absl::StrCat("allocation", info.memory);
    const bool is_shared = workgroup_ && std::ranges::find(node->sources, workgroup_) == node->sources.end();
    if (is_shared) {
      memory = hooks_->shared_memory(type, name);
      has_shared_memory_ = true;
    } else {
      llvm::AllocaInst* own = at_entry.CreateAlloca(type, nullptr, name);
      own->setAlignment(llvm::Align(64));
      memory = own;
    }
    has_type = type;
  }
  if (has_type != type) return malformed(node, "shares the memory of an allocation of another type");
  Slot& slot = allocations_[node];
  slot.pointer = memory;
  slot.element = node->dtype.element();
  slot.used = slot.stored = true;
  return absl::OkStatus();
}

absl::StatusOr<Emitter::Access> Emitter::access_of(UOpRef index) {
  if (index->op != Op::Index || index->sources.size() < 2 || index->sources.size() > 3) {
    return malformed(index, "an address must be index(param, i[, gate])");
  }
  UOpRef param = index->source(0);
  const Slot* memory = nullptr;
  if (param->op == Op::Allocate) {
    auto allocation = allocations_.find(param);
    if (allocation == allocations_.end()) return malformed(param, "used before it is defined");
    memory = &allocation->second;
  } else {
    if (param->op != Op::Param) return malformed(index, "only params and allocations have an address here");
    std::uint32_t slot = param->as<ir::ParamInfo>().slot;
    if (slot >= slots_.size() || !slots_[slot].used) return malformed(param, "used before it is defined");
    memory = &slots_[slot];
  }
  HEARTH_ASSIGN_OR_RETURN(Value * position, value(index->source(1)));
  Value* gate = nullptr;
  if (index->sources.size() == 3) {
    UOpRef condition = index->source(2);
    if (!ir::is_bool(condition->dtype)) return malformed(index, "the gate must be bool");
    UOpRef known = condition->op == Op::Broadcast ? condition->source(0) : condition;
    if (!known->is_const() || known->int_value() == 0) {
      HEARTH_ASSIGN_OR_RETURN(Value * computed, value(condition));
      gate = computed;
    }
  }
  return Access{memory, position, gate};
}

llvm::Value* Emitter::element_pointer(const Access& access, bool in_bounds) {
  llvm::Type* element = arithmetic_.memory_type(access.slot->element);
  return in_bounds ? b_.CreateInBoundsGEP(element, access.slot->pointer, access.position)
                   : b_.CreateGEP(element, access.slot->pointer, access.position);
}

std::vector<llvm::Value*> Emitter::lane_pointers(UOpRef position, const Access& access) {
  llvm::Type* element = arithmetic_.memory_type(access.slot->element);
  std::vector<Value*> pointers;
  std::vector<UOpRef> scalars;
  std::vector<std::int64_t> offsets;
  Value* base = access.slot->pointer;
  bool split = split_lanes(position, scalars, offsets);
  for (UOpRef scalar : scalars) split = split && value(scalar).ok();
  if (split) {
    for (UOpRef scalar : scalars) base = b_.CreateGEP(element, base, *value(scalar));
  }
  for (std::uint64_t lane = 0; lane < position->dtype.lanes; ++lane) {
    Value* offset =
        split ? b_.getInt64(static_cast<std::uint64_t>(offsets[lane])) : b_.CreateExtractElement(access.position, lane);
    pointers.push_back(b_.CreateGEP(element, base, offset));
  }
  return pointers;
}

llvm::Value* Emitter::mask(const Access& access, unsigned lanes) {
  if (!access.gate) return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
  return access.gate->getType()->isVectorTy() ? access.gate : b_.CreateVectorSplat(lanes, access.gate);
}

void Emitter::annotate(llvm::Instruction* instruction, const Slot& slot) {
  if (slot.scope) instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
  if (slot.others) instruction->setMetadata(llvm::LLVMContext::MD_noalias, slot.others);
}

void Emitter::annotate_load(llvm::Instruction* instruction, const Slot& slot) {
  annotate(instruction, slot);
  if (slot.stored) return;
  instruction->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
}

namespace {
bool is_vector(llvm::Value* v) { return v && v->getType()->isVectorTy(); }
}  // namespace

namespace {

constexpr std::uint64_t kAllocationAlignment = 16;

// Neighbours in an allocation, from a multiple of their number on.
bool is_aligned_vector(UOpRef load) {
  const DType dtype = load->dtype;
  const auto bytes = static_cast<std::uint64_t>(ir::byte_size(dtype)) * dtype.lanes;
  if (dtype.lanes < 2 || !std::has_single_bit(bytes) || bytes > kAllocationAlignment) return false;
  if (!load->source(0)->source(0)->is(Op::Allocate)) return false;
  const ir::Affine position = ir::to_affine(load->source(0)->source(1));
  return position.constant % dtype.lanes == 0 && std::ranges::all_of(position.terms, [&](const ir::AffineTerm& term) {
           return term.coefficient % dtype.lanes == 0;
         });
}

}  // namespace

absl::Status Emitter::load(UOpRef node) {
  HEARTH_ASSIGN_OR_RETURN(Access found, access_of(node->source(0)));
  const Access& access = found;
  DType dtype = node->dtype;
  if (dtype.element() != access.slot->element) return malformed(node, "dtype differs from its param's");
  llvm::Type* type = arithmetic_.memory_type(dtype);
  llvm::Align align(static_cast<std::uint64_t>(ir::byte_size(dtype)));
  Value* otherwise = llvm::Constant::getNullValue(arithmetic_.value_type(dtype));
  if (node->sources.size() == 2) {
    HEARTH_ASSIGN_OR_RETURN(Value * given, value(node->source(1)));
    otherwise = given;
    if (dtype.lanes > 1 && !is_vector(otherwise)) otherwise = b_.CreateVectorSplat(dtype.lanes, otherwise);
  }
  auto finish = [&](llvm::Instruction* instruction) {
    annotate_load(instruction, *access.slot);
    return arithmetic_.from_memory(dtype, instruction);
  };

  if (is_vector(access.position) || is_vector(access.gate)) {
    bool lanes_match = (!is_vector(access.position) || node->source(0)->source(1)->dtype.lanes == dtype.lanes) &&
                       (!is_vector(access.gate) || node->source(0)->source(2)->dtype.lanes == dtype.lanes);
    if (!lanes_match) return malformed(node, "index, gate and value differ in lanes");
    if (const auto place = transposed_.find(node)) {
      values_[node] = transposed(*place, access, node);
      return absl::OkStatus();
    }
    if (is_vector(access.position) && !access.gate) {
      std::vector<UOpRef> scalars;
      std::vector<std::int64_t> offsets;
      if (split_lanes(node->source(0)->source(1), scalars, offsets)) {
        const std::vector<Value*> pointers = lane_pointers(node->source(0)->source(1), access);
        Value* vector = llvm::PoisonValue::get(type);
        for (std::uint64_t lane = 0; lane < dtype.lanes; ++lane) {
          auto* one = b_.CreateAlignedLoad(type->getScalarType(), pointers[lane], align);
          annotate(one, *access.slot);
          vector = b_.CreateInsertElement(vector, one, lane);
        }
        values_[node] = arithmetic_.from_memory(dtype, vector);
        return absl::OkStatus();
      }
    }
    Value* pass = arithmetic_.to_memory(dtype, otherwise);
    if (Value* place = is_vector(access.position) && access.gate ? llvm::getSplatValue(access.position) : nullptr) {
      // One element for all lanes that are on: read once, where any is.
      Value* gate = mask(access, dtype.lanes);
      auto* one = b_.CreateAlignedLoad(type->getScalarType(),
                                       address_or_zero({access.slot, place, b_.CreateOrReduce(gate)}, nullptr), align);
      annotate(one, *access.slot);
      Value* lanes = b_.CreateSelect(gate, b_.CreateVectorSplat(dtype.lanes, one), pass);
      values_[node] = arithmetic_.from_memory(dtype, lanes);
      return absl::OkStatus();
    }
    Value* pointer = element_pointer(access, false);
    Value* active = mask(access, dtype.lanes);
    if (is_vector(access.position)) {
      values_[node] = finish(b_.CreateMaskedGather(type, pointer, align, active, pass));
      return absl::OkStatus();
    }
    const MaskedLoad masked = {llvm::cast<llvm::FixedVectorType>(type), pointer, align, active, pass};
    const unsigned register_bits = type->getScalarSizeInBits() < 32 ? 0 : traits_.masked_load_bits;
    auto made = [&](llvm::Instruction* instruction) { annotate_load(instruction, *access.slot); };
    values_[node] = arithmetic_.from_memory(dtype, emit_masked_load(b_, masked, register_bits, made));
    return absl::OkStatus();
  }
  if (!access.gate) {
    if (is_aligned_vector(node)) align = llvm::Align(align.value() * dtype.lanes);
    if (traits_.prefetches) prefetch(node->source(0), access, dtype);
    values_[node] = finish(b_.CreateAlignedLoad(type, element_pointer(access, true), align));
    return absl::OkStatus();
  }
  const bool fits_zeros = dtype.lanes > 1 && static_cast<std::int64_t>(ir::byte_size(dtype)) <= kZeroBytes;
  if (traits_.chooses_addresses && (only_splat_.contains(node) || fits_zeros) && node->sources.size() == 1) {
    prefetch(node->source(0), access, dtype);
    values_[node] = finish(b_.CreateAlignedLoad(type, address_or_zero(access, node), align));
    return absl::OkStatus();
  }
  // A branch, not a chosen address: the vectoriser turns it into a masked load.
  llvm::LLVMContext& context = module_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(context, "load", function_);
  auto* after = llvm::BasicBlock::Create(context, "loaded", function_);
  b_.CreateCondBr(access.gate, inside, after);
  b_.SetInsertPoint(inside);
  Value* loaded = finish(b_.CreateAlignedLoad(type, element_pointer(access, true), align));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* chosen = b_.CreatePHI(loaded->getType(), 2);
  chosen->addIncoming(otherwise, before);
  chosen->addIncoming(loaded, inside);
  values_[node] = chosen;
  return absl::OkStatus();
}

// For a load whose gate stays the same in the innermost loop, along which it runs: the elements from one iteration to
// the next; 0 where that is not so or the loop reads more than kZeroRowBytes.
std::int64_t Emitter::step_of_run(UOpRef load) const {
  if (!load || loops_.empty()) return 0;
  UOpRef index = load->source(0), loop = loops_.back().range;
  if (!loop->source(0)->is_const() || depends_on(index->source(2), loop)) return 0;
  const ir::Affine position = ir::to_affine(index->source(1));
  const std::int64_t step = position.coefficient_of(loop), last = loop->source(0)->int_value() - 1;
  const bool is_hidden = std::ranges::any_of(
      position.terms, [&](const ir::AffineTerm& term) { return term.atom != loop && depends_on(term.atom, loop); });
  const std::int64_t bytes = byte_size(load->dtype), element = byte_size(load->dtype.element());
  return step > 0 && !is_hidden && last <= (kZeroRowBytes - bytes) / (step * element) ? step : 0;
}

// Where a gated load finds its element, or zeros. A branch in the middle of a tile would cost more than the tile. Of a
// load that runs along the innermost loop the whole row is chosen, outside of the loop.
llvm::Value* Emitter::address_or_zero(const Access& access, UOpRef load) {
  // A local variable of zeros, or a choice that LLVM may call predictable, would become a branch again.
  const std::int64_t step = step_of_run(load);
  Access first = access;
  Value* along = nullptr;
  if (step > 0) {
    along = b_.CreateMul(loops_.back().counter, b_.getInt64(static_cast<std::uint64_t>(step)));
    first.position = b_.CreateSub(access.position, along);
  }
  Value* address = b_.CreateSelect(access.gate, element_pointer(first, false), zeros(step > 0));
  if (auto* choice = llvm::dyn_cast<llvm::Instruction>(address)) {
    choice->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(module_.getContext(), {}));
  }
  return along ? b_.CreateGEP(arithmetic_.memory_type(access.slot->element), address, along) : address;
}

llvm::GlobalVariable* Emitter::zeros(bool is_row) {
  const char* name = is_row ? kZeroRow : kZeros;
  llvm::GlobalVariable* zeros = module_.getGlobalVariable(name, /*AllowInternal=*/true);
  if (zeros != nullptr) return zeros;
  const std::int64_t bytes = is_row ? kZeroRowBytes : kZeroBytes;
  llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<std::uint64_t>(bytes));
  zeros = new llvm::GlobalVariable(module_, type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                   llvm::Constant::getNullValue(type), name);
  zeros->setAlignment(llvm::Align(kZeroBytes));
  return zeros;
}

absl::Status Emitter::store(UOpRef node) {
  if (node->sources.size() != 2) return malformed(node, "ranges among the sources of a linear store");
  HEARTH_ASSIGN_OR_RETURN(Access found, access_of(node->source(0)));
  const Access& access = found;
  HEARTH_ASSIGN_OR_RETURN(Value * given, value(node->source(1)));
  DType dtype = node->source(1)->dtype;
  if (dtype.element() != access.slot->element) return malformed(node, "dtype differs from its param's");
  Value* stored = arithmetic_.to_memory(dtype, given);
  llvm::Align align(static_cast<std::uint64_t>(ir::byte_size(dtype)));
  values_[node] = nullptr;

  if (is_vector(access.position) || is_vector(access.gate)) {
    bool lanes_match = (!is_vector(access.position) || node->source(0)->source(1)->dtype.lanes == dtype.lanes) &&
                       (!is_vector(access.gate) || node->source(0)->source(2)->dtype.lanes == dtype.lanes);
    if (!lanes_match) return malformed(node, "index, gate and value differ in lanes");
    if (is_vector(access.position) && !access.gate) {
      if (const auto place = transposed_.find(node)) {
        store_transposed(*place, access, node, stored);
        return absl::OkStatus();
      }
      // One by one: scatter instructions are slower, and neighbours may be stored together.
      const std::vector<Value*> pointers = lane_pointers(node->source(0)->source(1), access);
      for (std::uint64_t lane = 0; lane < dtype.lanes; ++lane) {
        annotate(b_.CreateAlignedStore(b_.CreateExtractElement(stored, lane), pointers[lane], align), *access.slot);
      }
      return absl::OkStatus();
    }
    Value* pointer = element_pointer(access, false);
    Value* active = mask(access, dtype.lanes);
    annotate(is_vector(access.position) ? b_.CreateMaskedScatter(stored, pointer, align, active)
                                        : b_.CreateMaskedStore(stored, pointer, align, active),
             *access.slot);
    return absl::OkStatus();
  }
  llvm::BasicBlock* after = nullptr;
  if (access.gate) {
    auto* inside = llvm::BasicBlock::Create(module_.getContext(), "store", function_);
    after = llvm::BasicBlock::Create(module_.getContext(), "stored", function_);
    b_.CreateCondBr(access.gate, inside, after);
    b_.SetInsertPoint(inside);
  }
  UOpRef position = node->source(0)->source(1);
  const bool streams = options_.stream_slot && access.slot == &slots_[*options_.stream_slot] && dtype.lanes > 1 &&
                       !access.gate && is_vector_aligned(position, dtype.lanes);
  if (streams) align = llvm::Align(static_cast<std::uint64_t>(ir::byte_size(dtype) * dtype.lanes));
  llvm::StoreInst* instruction = b_.CreateAlignedStore(stored, element_pointer(access, true), align);
  annotate(instruction, *access.slot);
  if (streams) {
    auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
    instruction->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(module_.getContext(), {one}));
  }
  if (after) {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  return absl::OkStatus();
}

}  // namespace hearth::codegen
