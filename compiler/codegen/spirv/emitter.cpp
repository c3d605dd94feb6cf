#include "compiler/codegen/spirv/emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/kernel_abi.h"
#include "base/status_macros.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::spirv {

using ir::Op;
using ir::Scalar;
using ir::UOpRef;

Emitter::Emitter(const passes::LinearKernel& kernel, const target::Target& target)
    : kernel_(kernel),
      workgroup_(passes::workgroup_of(kernel)),
      workgroup_size_(workgroup_ ? static_cast<std::uint32_t>(workgroup_->bounds.max + 1) : target.workgroup_size()),
      subgroup_size_(static_cast<std::uint32_t>(target.subgroup_size())),
      m_(target, std::ranges::any_of(kernel.body, [](UOpRef x) { return x->is(Op::Wmma); })),
      b_(m_.builder()),
      arithmetic_(m_) {
  find_matrices();
  arithmetic_.find_fused(kernel.body);
}

absl::Status Emitter::malformed(UOpRef node, const std::string& reason) const {
  return absl::InternalError(absl::StrCat("codegen: kernel ", kernel_.symbol, ": ", ir::describe(node), ": ", reason));
}

bool Emitter::has_grid() const {
  return std::ranges::any_of(kernel_.body, [](UOpRef x) { return ir::is_range(x, ir::RangeKind::Grid); });
}

absl::StatusOr<std::vector<std::uint32_t>> Emitter::run() {
  if (kernel_.symbol.empty()) return absl::InternalError("codegen: a kernel without a symbol");
  prologue();
  // A launch of no units does nothing, and where no loop is divided one invocation or workgroup does all.
  Id works = b_.createBinOp(spv::OpSGreaterThan, m_.boolean(), units_, m_.integer(64, 0));
  if (!has_grid()) {
    const Id is_first = b_.createBinOp(spv::OpIEqual, m_.boolean(), first_unit_, m_.integer(64, 0));
    works = b_.createBinOp(spv::OpLogicalAnd, m_.boolean(), works, is_first);
    in_grid_ = true;
  }
  spv::Builder::If if_works(works, spv::SelectionControlMaskNone, b_);
  const absl::Status emitted = body();
  if_works.makeEndIf();  // whatever came of it: until then the builder owns no block behind it
  if (!emitted.ok()) return emitted;
  b_.leaveFunction();
  return m_.words();
}

absl::Status Emitter::body() {
  for (UOpRef node : kernel_.body) {
    m_.set_node(node);
    HEARTH_RETURN_IF_ERROR(emit(node));
    if (!m_.refused().ok())
      return absl::Status(m_.refused().code(),
                          absl::StrCat("kernel ", kernel_.symbol, ": ", std::string(m_.refused().message())));
  }
  return loops_.empty() ? absl::OkStatus() : malformed(loops_.back().range, "this range has no end");
}

void Emitter::prologue() {
  function_ = b_.makeEntryPoint("main");
  b_.addName(function_->getId(), kernel_.symbol.c_str());
  const Id u64 = m_.word(64), u32 = m_.word(32), u32x3 = b_.makeVectorType(u32, 3);
  const Id push_type = b_.makeStructType({u64}, "Launch");
  b_.addMemberName(push_type, 0, "row");
  b_.addMemberDecoration(push_type, 0, spv::DecorationOffset, 0);
  b_.addDecoration(push_type, spv::DecorationBlock);
  const Id push = b_.createVariable(spv::NoPrecision, spv::StorageClassPushConstant, push_type, "launch");
  entry_ = b_.addEntryPoint(spv::ExecutionModelGLCompute, function_, "main");
  entry_->addIdOperand(push);
  const auto input = [&](Id type, spv::BuiltIn what, const char* name) {
    const Id variable = b_.createVariable(spv::NoPrecision, spv::StorageClassInput, type, name);
    b_.addDecoration(variable, spv::DecorationBuiltIn, what);
    entry_->addIdOperand(variable);
    return b_.createLoad(variable, spv::NoPrecision);
  };
  const auto builtin = [&](spv::BuiltIn what, const char* name) {
    return b_.createUnaryOp(spv::OpUConvert, u64, b_.createCompositeExtract(input(u32x3, what, name), u32, 0));
  };
  b_.addExecutionMode(function_, spv::ExecutionModeLocalSize, static_cast<int>(workgroup_size_), 1, 1);
  for (const int width : {32, 64}) {
    // Without these a driver may treat NaN, infinities and the sign of zero as it likes.
    const std::string of = absl::StrCat("Float", width);
    const bool has_width = width == 32 || m_.has("shaderFloat64");
    if (has_width && m_.has("shaderSignedZeroInfNanPreserve" + of)) {
      b_.addCapability(spv::CapabilitySignedZeroInfNanPreserve);
      b_.addExecutionMode(function_, spv::ExecutionModeSignedZeroInfNanPreserve, width);
    }
    if (has_width && m_.has("shaderRoundingModeRTE" + of)) {
      b_.addCapability(spv::CapabilityRoundingModeRTE);
      b_.addExecutionMode(function_, spv::ExecutionModeRoundingModeRTE, width);
    }
    if (has_width && m_.has("shaderDenormPreserve" + of)) {
      b_.addCapability(spv::CapabilityDenormPreserve);
      b_.addExecutionMode(function_, spv::ExecutionModeDenormPreserve, width);
    }
  }
  const Id workgroups = builtin(spv::BuiltInNumWorkgroups, "workgroups");
  if (workgroup_) {
    if (m_.has_matrices()) {
      // Neighbours of a subgroup are neighbours in the workgroup, whatever the driver numbers them by.
      const Id subgroup = input(u32, spv::BuiltInSubgroupId, "subgroup"),
               lane = input(u32, spv::BuiltInSubgroupLocalInvocationId, "lane");
      const Id first = b_.createBinOp(spv::OpIMul, u32, subgroup, m_.integer(32, subgroup_size_));
      local_ = b_.createUnaryOp(spv::OpUConvert, u64, b_.createBinOp(spv::OpIAdd, u32, first, lane));
    } else {
      local_ = builtin(spv::BuiltInLocalInvocationId, "local");
    }
    first_unit_ = builtin(spv::BuiltInWorkgroupId, "workgroup");
    unit_step_ = workgroups;
  } else {
    first_unit_ = builtin(spv::BuiltInGlobalInvocationId, "invocation");
    unit_step_ = b_.createBinOp(spv::OpIMul, u64, workgroups, m_.integer(64, workgroup_size_));
  }
  // Not createAccessChain, which reads a state of the builder's own.
  const Id place =
      b_.createOp(spv::OpAccessChain, b_.makePointer(spv::StorageClassPushConstant, u64), {push, m_.integer(32, 0)});
  row_ = b_.createLoad(place, spv::NoPrecision);
  units_ = row_word(HEARTH_ROW_UNITS);
}

spv::Id Emitter::row_word(std::uint64_t place) {
  const Id u64 = m_.word(64);
  const Id address = b_.createBinOp(spv::OpIAdd, u64, row_, m_.integer(64, 8 * place));
  const Id pointer = b_.createUnaryOp(spv::OpConvertUToPtr, m_.pointer_to(u64), address);
  return b_.createLoad(pointer, spv::NoPrecision, spv::MemoryAccessAlignedMask, spv::ScopeMax, 8);
}

spv::Id Emitter::variable(Id type, const std::string& name) {
  return b_.createVariable(spv::NoPrecision, spv::StorageClassFunction, type, name.c_str());
}

absl::StatusOr<spv::Id> Emitter::value(UOpRef node) {
  if (node->is_const()) return m_.constant(node->dtype.scalar, node->as<ir::ConstValue>());
  const auto found = values_.find(node);
  if (found == values_.end()) return malformed(node, "used before it is defined");
  if (found->second == spv::NoResult) return malformed(node, "used as a value, but it has none");
  return found->second;
}

absl::Status Emitter::emit(UOpRef node) {
  if (values_.contains(node)) return malformed(node, "stands twice in the body");
  if (is_matrix(node)) return emit_matrix(node);
  const bool is_zero = node->is_const() || (node->is(Op::Broadcast) && node->source(0)->is_const());
  if (node->dtype.lanes > 1 && is_zero && m_.has_matrices()) return absl::OkStatus();  // what sums begin with
  if (node->dtype.lanes > 1) {
    return absl::UnimplementedError(
        absl::StrCat("codegen: kernel ", kernel_.symbol, ": ", ir::describe(node), ": vectors have no code here"));
  }
  switch (node->op) {
    case Op::Const:
    case Op::Index:
      return absl::OkStatus();
    case Op::Sink:
      values_[node] = spv::NoResult;
      return absl::OkStatus();
    case Op::Barrier:
      barrier();
      values_[node] = spv::NoResult;
      return absl::OkStatus();
    case Op::Param:
      return declare_param(node);
    case Op::Allocate:
      return declare_allocation(node);
    case Op::Var: {
      const auto& var = node->as<ir::VarInfo>();
      if (static_cast<int>(var.slot) >= kernel_.num_vars)
        return malformed(node, absl::StrCat("the kernel has ", kernel_.num_vars, " variables"));
      values_[node] = row_word(HEARTH_ROW_VAR(static_cast<unsigned>(kernel_.num_buffers), var.slot));
      return absl::OkStatus();
    }
    case Op::Range:
      return open_range(node);
    case Op::End:
      return close_range(node);
    case Op::Acc:
    case Op::AccUpdate:
    case Op::AccResult:
      return is_matrix(node->source(0)) ? accumulate_matrix(node) : accumulate(node);
    case Op::Load:
      return load(node);
    case Op::Store:
      return store(node);
    default:
      return compute(node);
  }
}

absl::Status Emitter::compute(UOpRef node) {
  std::vector<Id> operands;
  for (UOpRef source : node->sources) {
    HEARTH_ASSIGN_OR_RETURN(const Id operand, value(source));
    operands.push_back(operand);
  }
  switch (node->op) {
    case Op::Broadcast:
    case Op::Extract:
    case Op::Horizontal:
    case Op::Stack:
      if (operands.size() != 1 || node->source(0)->dtype.lanes != 1) return malformed(node, "of more than one lane");
      values_[node] = operands[0];
      return absl::OkStatus();
    default:
      break;
  }
  if (!ir::is_elementwise(node->op)) return malformed(node, "this op belongs to an earlier stage");
  HEARTH_ASSIGN_OR_RETURN(const Id result, arithmetic_.elementwise(node, operands));
  values_[node] = result;
  return absl::OkStatus();
}

// for (i = begin; i < end; i += step), tested in front, so that a range may be empty.
absl::Status Emitter::open_range(UOpRef node) {
  const auto& info = node->as<ir::RangeInfo>();
  if (node == workgroup_) {
    values_[node] = local_;
    return absl::OkStatus();
  }
  if (info.kind != ir::RangeKind::Loop && info.kind != ir::RangeKind::Reduce && info.kind != ir::RangeKind::Grid)
    return malformed(node, "this range is gone after the expand pass");
  HEARTH_ASSIGN_OR_RETURN(const Id size, value(node->source(0)));
  const bool is_grid = info.kind == ir::RangeKind::Grid;
  if (is_grid && in_grid_) return malformed(node, "a kernel has one grid range");
  in_grid_ |= is_grid;
  const Id u64 = m_.word(64);
  const Id counter = variable(u64, absl::StrCat("axis", info.axis));
  b_.createStore(is_grid ? first_unit_ : m_.integer(64, 0), counter);
  spv::Builder::LoopBlocks& blocks = b_.makeNewLoop();
  b_.createBranch(&blocks.head);
  b_.setBuildPoint(&blocks.head);
  b_.createLoopMerge(&blocks.merge, &blocks.continue_target, spv::LoopControlMaskNone, {});
  spv::Block& test = b_.makeNewBlock();
  b_.createBranch(&test);
  b_.setBuildPoint(&test);
  const Id now = b_.createLoad(counter, spv::NoPrecision);
  const Id goes_on = b_.createBinOp(spv::OpSLessThan, m_.boolean(), now, is_grid ? units_ : size);
  b_.createConditionalBranch(goes_on, &blocks.body, &blocks.merge);
  b_.setBuildPoint(&blocks.body);
  values_[node] = now;
  loops_.push_back({node, &blocks, counter, is_grid ? unit_step_ : m_.integer(64, 1)});
  return absl::OkStatus();
}

absl::Status Emitter::close_range(UOpRef node) {
  if (loops_.empty() || loops_.back().range != node->source(0)) return malformed(node, "loops do not nest");
  const Loop loop = loops_.back();
  loops_.pop_back();
  // The next unit's shared memory is this one's.
  if (workgroup_ && ir::is_range(loop.range, ir::RangeKind::Grid)) barrier();
  b_.createBranch(&loop.blocks->continue_target);
  b_.setBuildPoint(&loop.blocks->continue_target);
  const Id now = b_.createLoad(loop.counter, spv::NoPrecision);
  b_.createStore(b_.createBinOp(spv::OpIAdd, m_.word(64), now, loop.step), loop.counter);
  b_.createBranch(&loop.blocks->head);
  b_.setBuildPoint(&loop.blocks->merge);
  b_.closeLoop();
  values_[node] = spv::NoResult;
  return absl::OkStatus();
}

absl::Status Emitter::accumulate(UOpRef node) {
  if (node->is(Op::Acc)) {
    HEARTH_ASSIGN_OR_RETURN(const Id initial, value(node->source(0)));
    const Id cell =
        variable(m_.value_type(node->source(0)->dtype.scalar), absl::StrCat("acc", node->as<ir::AccInfo>().id));
    b_.createStore(initial, cell);
    values_[node] = cell;
    return absl::OkStatus();
  }
  UOpRef acc = node->source(0);
  if (!acc->is(Op::Acc)) return malformed(node, "the first source must be an acc");
  HEARTH_ASSIGN_OR_RETURN(const Id cell, value(acc));
  const Id current = b_.createLoad(cell, spv::NoPrecision);
  if (node->is(Op::AccResult)) {
    values_[node] = current;
    return absl::OkStatus();
  }
  HEARTH_ASSIGN_OR_RETURN(const Id update, value(node->source(1)));
  if (node->source(1)->dtype != acc->source(0)->dtype) return malformed(node, "value and accumulator differ in dtype");
  const Id next = arithmetic_.combine(node->as<ir::ReduceInfo>().kind, acc->source(0)->dtype.scalar, current, update);
  b_.createStore(next, cell);
  values_[node] = spv::NoResult;
  return absl::OkStatus();
}

}  // namespace hearth::codegen::spirv
