// Loads and stores of Emitter, and the memory that they go to.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "compiler/codegen/spirv/emitter.h"

namespace hearth::codegen::spirv {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

absl::Status Emitter::declare_param(UOpRef node) {
  const std::uint32_t slot = node->as<ir::ParamInfo>().slot;
  if (static_cast<int>(slot) >= kernel_.num_buffers)
    return malformed(node, absl::StrCat("the kernel has ", kernel_.num_buffers, " buffers"));
  values_[node] = row_word(HEARTH_ROW_BUFFER(slot));
  return absl::OkStatus();
}

// Whether the workgroup has the memory together; else it belongs to one invocation.
bool Emitter::is_shared(UOpRef allocation) const {
  return workgroup_ && std::ranges::find(allocation->sources, workgroup_) == allocation->sources.end();
}

// What invocations stored in shared memory before, all see behind it.
void Emitter::barrier() {
  unsigned semantics = spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsWorkgroupMemoryMask;
  if (m_.has_matrices()) semantics |= spv::MemorySemanticsMakeAvailableMask | spv::MemorySemanticsMakeVisibleMask;
  b_.createControlBarrier(spv::ScopeWorkgroup, spv::ScopeWorkgroup, static_cast<spv::MemorySemanticsMask>(semantics));
}

// By Vulkan's memory model what others see has to be said.
spv::MemoryAccessMask Emitter::access_mask(const Access& access) const {
  return access.is_shared && m_.has_matrices() ? spv::MemoryAccessNonPrivatePointerMask : spv::MemoryAccessMaskNone;
}

absl::Status Emitter::declare_allocation(UOpRef node) {
  const auto& info = node->as<ir::AllocationInfo>();
  const Id elements = m_.integer(32, static_cast<std::uint64_t>(info.elements));
  const Id type = b_.makeArrayType(m_.value_type(node->dtype.scalar), elements, 0);
  auto& [memory, has_type] = allocated_memory_[info.memory];
  if (memory == spv::NoResult) {
    const std::string name = absl::StrCat("allocation", info.memory);
    if (is_shared(node)) {
      memory = b_.createVariable(spv::NoPrecision, spv::StorageClassWorkgroup, type, name.c_str());
      entry_->addIdOperand(memory);
    } else {
      memory = variable(type, name);
    }
    has_type = type;
  }
  if (has_type != type) return malformed(node, "shares the memory of an allocation of another type");
  values_[node] = memory;
  return absl::OkStatus();
}

absl::StatusOr<Emitter::Access> Emitter::access_of(UOpRef index) {
  if (!index->is(Op::Index) || index->sources.size() < 2 || index->sources.size() > 3)
    return malformed(index, "an address must be index(param, i[, gate])");
  UOpRef memory = index->source(0);
  if (!memory->is(Op::Param) && !memory->is(Op::Allocate))
    return malformed(index, "only params and allocations have an address here");
  const absl::StatusOr<Id> base = value(memory), position = value(index->source(1));
  HEARTH_RETURN_IF_ERROR(base.status());
  HEARTH_RETURN_IF_ERROR(position.status());
  Access access;
  access.element = memory->dtype.scalar;
  access.is_allocation = memory->is(Op::Allocate);
  access.is_shared = access.is_allocation && is_shared(memory);
  if (index->sources.size() == 3) {
    UOpRef gate = index->source(2);
    if (!ir::is_bool(gate->dtype)) return malformed(index, "the gate must be bool");
    if (!gate->is_const() || gate->int_value() == 0) {
      HEARTH_ASSIGN_OR_RETURN(const Id computed, value(gate));
      access.gate = computed;
    }
  }
  if (access.is_allocation) {
    const spv::StorageClass storage = access.is_shared ? spv::StorageClassWorkgroup : spv::StorageClassFunction;
    const Id type = b_.makePointer(storage, m_.value_type(access.element));
    const Id place = b_.createUnaryOp(spv::OpUConvert, m_.word(32), *position);
    access.pointer = b_.createOp(spv::OpAccessChain, type, {*base, place});
    return access;
  }
  const Id u64 = m_.word(64);
  const auto bytes = static_cast<std::uint64_t>(ir::byte_size(access.element));
  const Id offset = bytes == 1 ? *position : b_.createBinOp(spv::OpIMul, u64, *position, m_.integer(64, bytes));
  const Id address = b_.createBinOp(spv::OpIAdd, u64, *base, offset);
  access.pointer = b_.createUnaryOp(spv::OpConvertUToPtr, m_.pointer_to(m_.memory_type(access.element)), address);
  return access;
}

spv::Id Emitter::read(const Access& access) {
  if (access.is_allocation) return b_.createLoad(access.pointer, spv::NoPrecision, access_mask(access));
  const auto bytes = static_cast<unsigned>(ir::byte_size(access.element));
  return arithmetic_.from_memory(access.element, b_.createLoad(access.pointer, spv::NoPrecision,
                                                               spv::MemoryAccessAlignedMask, spv::ScopeMax, bytes));
}

absl::Status Emitter::load(UOpRef node) {
  HEARTH_ASSIGN_OR_RETURN(const Access access, access_of(node->source(0)));
  if (node->dtype.scalar != access.element) return malformed(node, "dtype differs from its param's");
  if (access.gate == spv::NoResult) {
    values_[node] = read(access);
    return absl::OkStatus();
  }
  const Id type = m_.value_type(access.element);
  Id otherwise = b_.makeNullConstant(type);
  if (node->sources.size() == 2) {
    HEARTH_ASSIGN_OR_RETURN(const Id given, value(node->source(1)));
    otherwise = given;
  }
  const Id result = variable(type, "gated");
  b_.createStore(otherwise, result);
  spv::Builder::If if_on(access.gate, spv::SelectionControlMaskNone, b_);
  b_.createStore(read(access), result);
  if_on.makeEndIf();
  values_[node] = b_.createLoad(result, spv::NoPrecision);
  return absl::OkStatus();
}

absl::Status Emitter::store(UOpRef node) {
  if (node->sources.size() != 2) return malformed(node, "ranges among the sources of a linear store");
  if (std::holds_alternative<ir::MatrixAccess>(node->payload)) return store_matrix(node);
  HEARTH_ASSIGN_OR_RETURN(const Access access, access_of(node->source(0)));
  if (!in_grid_ && !access.is_allocation)
    return malformed(node, "a store outside of the grid, which every invocation would do");
  HEARTH_ASSIGN_OR_RETURN(const Id given, value(node->source(1)));
  if (node->source(1)->dtype.scalar != access.element) return malformed(node, "dtype differs from its param's");
  values_[node] = spv::NoResult;
  const auto write = [&] {
    if (access.is_allocation) return b_.createStore(given, access.pointer, access_mask(access));
    const auto bytes = static_cast<unsigned>(ir::byte_size(access.element));
    b_.createStore(arithmetic_.to_memory(access.element, given), access.pointer, spv::MemoryAccessAlignedMask,
                   spv::ScopeMax, bytes);
  };
  if (access.gate == spv::NoResult) {
    write();
    return absl::OkStatus();
  }
  spv::Builder::If if_on(access.gate, spv::SelectionControlMaskNone, b_);
  write();
  if_on.makeEndIf();
  return absl::OkStatus();
}

}  // namespace hearth::codegen::spirv
