#include "compiler/codegen/llvm/emitter.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/text.h"
#include "llvm/IR/MDBuilder.h"

namespace hearth::codegen {

using ir::DType;
using ir::Op;
using ir::UOpRef;

Emitter::Emitter(const passes::LinearKernel& kernel, llvm::Module& module, const On& on, Options options)
    : kernel_(kernel),
      module_(module),
      b_(module.getContext()),
      options_(std::move(options)),
      hooks_(hooks_for(on.target, kernel, module, b_)),
      arithmetic_(b_, on.traits, options_.fast_math),
      transposed_(kernel.body),
      kept_(kernel.body),
      traits_(on.traits) {}

absl::Status Emitter::malformed(UOpRef node, const std::string& reason) const {
  return absl::InternalError(absl::StrCat("codegen: kernel ", kernel_.symbol, ": ", ir::describe(node), ": ", reason));
}

absl::Status Emitter::run() {
  HEARTH_RETURN_IF_ERROR(prologue());
  const bool has_grid =
      std::ranges::any_of(kernel_.body, [](UOpRef node) { return is_range(node, ir::RangeKind::Grid); });
  if (!has_grid) hooks_->enter_without_grid();
  for (UOpRef node : kernel_.body) {
    HEARTH_RETURN_IF_ERROR(emit(node));
  }
  if (!loops_.empty()) return malformed(loops_.back().range, "this range has no end");
  if (!has_grid) hooks_->leave_without_grid();
  b_.CreateRetVoid();
  return absl::OkStatus();
}

// The function, its buffer pointers and variables: everything of the entry block but accumulators.
absl::Status Emitter::prologue() {
  if (kernel_.symbol.empty()) return absl::InternalError("codegen: a kernel without a symbol");
  llvm::LLVMContext& context = module_.getContext();
  function_ = hooks_->declare(kernel_.symbol + options_.suffix);

  slots_.resize(static_cast<std::size_t>(std::max(kernel_.num_buffers, 0)));
  for (UOpRef node : kernel_.body) {
    if (node->op == Op::Param) {
      std::uint32_t slot = node->as<ir::ParamInfo>().slot;
      if (slot >= slots_.size()) return malformed(node, absl::StrCat("the kernel has ", slots_.size(), " buffers"));
      if (slots_[slot].used) return malformed(node, "two params of one slot");
      slots_[slot].used = true;
      slots_[slot].element = node->dtype.element();
    } else if (node->op == Op::Store) {
      UOpRef param = node->source(0)->source(0);
      if (param->op == Op::Param && param->as<ir::ParamInfo>().slot < slots_.size()) {
        slots_[param->as<ir::ParamInfo>().slot].stored = true;
      }
    }
  }
  // A wmma that sums use, and nothing else, takes their accumulators.
  for (UOpRef node : kernel_.body) {
    if (node->is(Op::Wmma)) only_summed_.insert(node);
    const bool sums = node->is(Op::AccUpdate) && node->as<ir::ReduceInfo>().kind == ir::ReduceKind::Sum;
    for (UOpRef source : node->sources) {
      if (!sums || source == node->source(0)) only_summed_.erase(source);
    }
  }
  for (UOpRef node : kernel_.body) {
    if (node->is(Op::Load) && node->dtype.lanes == 1) only_splat_.insert(node);
    if (node->is(Op::Broadcast)) continue;
    for (UOpRef source : node->sources) only_splat_.erase(source);
  }
  // A slot that is stored to overlaps no other: every slot is an alias scope that the others' accesses exclude.
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAliasScopeDomain(kernel_.symbol);
  std::vector<llvm::MDNode*> scopes(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    scopes[i] = metadata.createAliasScope(absl::StrCat("buffer", i), domain);
    slots_[i].scope = llvm::MDNode::get(context, {scopes[i]});
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.used) continue;
    llvm::SmallVector<llvm::Metadata*> others;
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      if (k != i && slots_[k].used) others.push_back(scopes[k]);
    }
    slot.others = others.empty() ? nullptr : llvm::MDNode::get(context, others);
    slot.pointer = hooks_->buffer(static_cast<unsigned>(i));
  }
  return absl::OkStatus();
}

absl::StatusOr<llvm::Value*> Emitter::value(UOpRef node) {
  if (node->is_const()) return arithmetic_.constant(node->dtype, node->as<ir::ConstValue>());
  auto found = values_.find(node);
  if (found == values_.end()) return malformed(node, "used before it is defined");
  if (!found->second) return malformed(node, "used as a value, but it has none");
  return found->second;
}

absl::Status Emitter::emit(UOpRef node) {
  if (values_.contains(node)) return malformed(node, "stands twice in the body");
  switch (node->op) {
    case Op::Const:
    case Op::Param:
    case Op::Index:
      return absl::OkStatus();
    case Op::Allocate:
      return declare_allocation(node);
    case Op::Sink:
      values_[node] = nullptr;
      return absl::OkStatus();
    case Op::Barrier:
      for (Loop& loop : loops_) loop.has_barrier = true;
      hooks_->barrier(node->as<ir::BarrierInfo>().id);
      values_[node] = nullptr;
      return absl::OkStatus();
    case Op::Var: {
      const auto& var = node->as<ir::VarInfo>();
      if (static_cast<int>(var.slot) >= kernel_.num_vars) {
        return malformed(node, absl::StrCat("the kernel has ", kernel_.num_vars, " variables"));
      }
      llvm::LoadInst* load = hooks_->variable(var.slot);
      llvm::LLVMContext& context = module_.getContext();
      if (var.min <= var.max && var.max < std::numeric_limits<std::int64_t>::max()) {
        llvm::APInt low(64, static_cast<std::uint64_t>(var.min), true),
            high(64, static_cast<std::uint64_t>(var.max) + 1, true);
        load->setMetadata(llvm::LLVMContext::MD_range, llvm::MDBuilder(context).createRange(low, high));
      }
      values_[node] = load;
      return absl::OkStatus();
    }
    case Op::Range:
      return open_range(node);
    case Op::End:
      return close_range(node);
    case Op::Acc:
    case Op::AccUpdate:
    case Op::AccResult:
      return accumulate(node);
    case Op::Load:
      return load(node);
    case Op::Store:
      return store(node);
    case Op::Stack:
      return gather_lanes(node);
    default:
      break;
  }
  std::vector<Value*> operands;
  for (UOpRef source : node->sources) {
    HEARTH_ASSIGN_OR_RETURN(Value * operand, value(source));
    operands.push_back(operand);
  }
  switch (node->op) {
    case Op::Broadcast:
      values_[node] = node->dtype.lanes > 1 ? b_.CreateVectorSplat(node->dtype.lanes, operands[0]) : operands[0];
      return absl::OkStatus();
    case Op::Extract: {
      std::uint32_t lane = node->as<ir::LaneInfo>().lane;
      DType source = node->source(0)->dtype;
      if (lane >= source.lanes) return malformed(node, "no such lane");
      values_[node] = source.lanes > 1 ? b_.CreateExtractElement(operands[0], std::uint64_t{lane}) : operands[0];
      return absl::OkStatus();
    }
    case Op::Wmma: {
      if (only_summed_.contains(node)) return absl::OkStatus();  // made by the updates
      Value* zero = llvm::Constant::getNullValue(arithmetic_.value_type(node->dtype));
      HEARTH_ASSIGN_OR_RETURN(values_[node], sum_of(node, operands[0], operands[1], zero));
      return absl::OkStatus();
    }
    case Op::Exchange: {
      Value* taken = workgroup_ ? hooks_->exchange(operands[0], node->as<ir::LaneInfo>().lane) : nullptr;
      if (taken == nullptr) return malformed(node, "this target's invocations exchange no values");
      values_[node] = taken;
      return absl::OkStatus();
    }
    case Op::Horizontal:
      values_[node] = arithmetic_.horizontal(node->as<ir::ReduceInfo>().kind, node->dtype, operands[0]);
      return absl::OkStatus();
    default:
      break;
  }
  if (!ir::is_elementwise(node->op)) return malformed(node, "this op belongs to an earlier stage");
  for (UOpRef source : node->sources) {
    if (source->dtype.lanes != node->dtype.lanes &&
        !(node->op == Op::Where && source == node->source(0) && source->dtype.lanes == 1)) {
      return malformed(node, "operands of different lane counts");
    }
  }
  HEARTH_ASSIGN_OR_RETURN(Value * result, arithmetic_.elementwise(node, operands));
  values_[node] = result;
  return absl::OkStatus();
}

absl::Status Emitter::gather_lanes(UOpRef node) {
  if (node->sources.size() != node->dtype.lanes) return malformed(node, "needs one source a lane");
  if (node->dtype.lanes == 1) {
    HEARTH_ASSIGN_OR_RETURN(Value * only, value(node->source(0)));
    values_[node] = only;
    return absl::OkStatus();
  }
  Value* vector = llvm::PoisonValue::get(arithmetic_.value_type(node->dtype));
  for (std::size_t i = 0; i < node->sources.size(); ++i) {
    HEARTH_ASSIGN_OR_RETURN(Value * lane, value(node->source(i)));
    vector = b_.CreateInsertElement(vector, lane, std::uint64_t{i});
  }
  values_[node] = vector;
  return absl::OkStatus();
}

// for (i = begin; i < end; ++i): the header tests, so that a range may be empty; LLVM rotates the loop.
absl::Status Emitter::open_range(UOpRef node) {
  auto info = node->as<ir::RangeInfo>();
  if (info.kind == ir::RangeKind::Unroll || info.kind == ir::RangeKind::Lanes) {
    return malformed(node, "unroll and lanes ranges are gone after the expand pass");
  }
  if (node == workgroup_) {
    values_[node] = hooks_->local_invocation();
    if (values_[node] == nullptr) return malformed(node, "this target's units are no workgroups");
    return absl::OkStatus();
  }
  HEARTH_ASSIGN_OR_RETURN(Value * size, value(node->source(0)));
  UnitHooks::Grid steps = {b_.getInt64(0), size, b_.getInt64(1)};
  if (info.kind == ir::RangeKind::Grid) {
    if (has_grid_) return malformed(node, "a kernel has one grid range");
    has_grid_ = true;
    steps = hooks_->grid(node->source(0)->bounds.max);
  }
  llvm::LLVMContext& context = module_.getContext();
  std::string name = absl::StrCat("axis", info.axis);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context, absl::StrCat(name, ".head"), function_);
  auto* body = llvm::BasicBlock::Create(context, absl::StrCat(name, ".body"), function_);
  auto* exit = llvm::BasicBlock::Create(context, absl::StrCat(name, ".exit"), function_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2, name);
  counter->addIncoming(steps.begin, before);
  b_.CreateCondBr(b_.CreateICmpSLT(counter, steps.end), body, exit);
  b_.SetInsertPoint(body);
  loops_.push_back({node, header, exit, counter, steps.step});
  values_[node] = counter;
  if (traits_.prefetches) prefetch_written();
  return absl::OkStatus();
}

namespace {

constexpr int kTile = 8;                // accumulators
constexpr std::int64_t kShortLoop = 4;  // iterations: the window of a convolution

void add_loop_option(llvm::BranchInst& back_edge, const char* name, std::optional<std::uint32_t> value) {
  llvm::LLVMContext& context = back_edge.getContext();
  llvm::SmallVector<llvm::Metadata*, 2> option = {llvm::MDString::get(context, name)};
  if (value)
    option.push_back(
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), std::uint64_t{*value})));
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, option)});
  id->replaceOperandWith(0, id);
  back_edge.setMetadata(llvm::LLVMContext::MD_loop, id);
}

// LLVM counts the instructions of a tile's innermost loop, not the registers. Where there are 32, a short loop is
// unrolled though a tile is long; where there are 16, all operands of several iterations at once would make it spill.
void decide_unrolling(llvm::BranchInst& back_edge, UOpRef range, std::int64_t registers) {
  const bool is_short = range->source(0)->is_const() && range->source(0)->int_value() <= kShortLoop;
  const bool is_roomy = registers >= 32;
  if (is_roomy && !is_short) return;
  add_loop_option(back_edge, is_roomy ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable", std::nullopt);
}

}  // namespace

absl::Status Emitter::close_range(UOpRef node) {
  if (loops_.empty() || loops_.back().range != node->source(0)) {
    return malformed(node, "does not close the innermost open range");
  }
  Loop loop = loops_.back();
  loops_.pop_back();
  // The next unit's shared memory is this one's.
  if (has_shared_memory_ && is_range(loop.range, ir::RangeKind::Grid)) hooks_->barrier(UnitHooks::kBetweenUnits);
  Value* next = b_.CreateAdd(loop.counter, loop.step, absl::StrCat(loop.counter->getName().str(), ".next"), true, true);
  loop.counter->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* back = b_.CreateBr(loop.header);
  const bool is_tile = !loop.holds_loop && loop.updates >= kTile;
  if (is_tile && is_range(loop.range, ir::RangeKind::Reduce))
    decide_unrolling(*back, loop.range, traits_.vector_registers);
  // A GPU's grid has a round for each invocation, as a rule. Rounds in a row of a loop with barriers would load for all
  // of them first.
  const bool is_single = loop.has_barrier || is_range(loop.range, ir::RangeKind::Grid);
  if (traits_.max_unrolled > 0 && is_single) add_loop_option(*back, "llvm.loop.unroll.disable", std::nullopt);
  if (traits_.max_unrolled > 0 && !loop.holds_loop && !is_single) {
    const std::uint32_t most =
        std::min(traits_.max_unrolled, std::max(1U, traits_.unrolled_updates / std::max(1U, loop.updates)));
    const UOpRef size = loop.range->source(0);
    const bool is_long = !size->is_const() || size->int_value() > most;
    if (is_long && most > 1) add_loop_option(*back, "llvm.loop.unroll.count", most);
    if (is_long && most == 1) add_loop_option(*back, "llvm.loop.unroll.disable", std::nullopt);
  }
  if (!loops_.empty()) loops_.back().holds_loop = true;
  if (&function_->back() != loop.exit) loop.exit->moveAfter(&function_->back());
  b_.SetInsertPoint(loop.exit);
  values_[node] = nullptr;
  return absl::OkStatus();
}

// `sum` and a wmma.
absl::StatusOr<llvm::Value*> Emitter::sum_of(UOpRef wmma, Value* a, Value* b, Value* sum) {
  if (wmma->as<ir::WmmaInfo>().layout == ir::MatrixLayout::Whole) {
    absl::StatusOr<Value*> result = arithmetic_.wmma(wmma, a, b, sum);
    if (!result.ok()) return malformed(wmma, std::string(result.status().message()));
    return result;
  }
  const DType operand = wmma->source(0)->dtype.element();
  const auto wide = [&](Value* value) { return arithmetic_.widen(operand, value); };
  Value* result = workgroup_ ? hooks_->multiply(wmma, a, b, sum, wide) : nullptr;
  if (result == nullptr) return malformed(wmma, "this target has no such matrix unit");
  return result;
}

// An accumulator lives in an alloca of the entry block; LLVM promotes it to a register.
absl::Status Emitter::accumulate(UOpRef node) {
  llvm::Type* type = arithmetic_.value_type(node->source(0)->dtype);
  if (node->op == Op::Acc) {
    HEARTH_ASSIGN_OR_RETURN(Value * initial, value(node->source(0)));
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    Value* cell = at_entry.CreateAlloca(type, nullptr, absl::StrCat("acc", node->as<ir::AccInfo>().id));
    b_.CreateStore(initial, cell);
    values_[node] = cell;
    return absl::OkStatus();
  }
  if (node->source(0)->op != Op::Acc) return malformed(node, "the first source must be an acc");
  if (node->is(Op::AccUpdate) && !loops_.empty()) ++loops_.back().updates;
  HEARTH_ASSIGN_OR_RETURN(Value * cell, value(node->source(0)));
  Value* current = b_.CreateLoad(type, cell);
  if (node->op == Op::AccResult) {
    values_[node] = current;
    return absl::OkStatus();
  }
  if (UOpRef product = node->source(1); only_summed_.contains(product)) {
    if (product->dtype != node->source(0)->dtype) return malformed(node, "value and accumulator differ in dtype");
    absl::StatusOr<Value*> a = value(product->source(0)), b = value(product->source(1));
    HEARTH_RETURN_IF_ERROR(a.status());
    HEARTH_RETURN_IF_ERROR(b.status());
    HEARTH_ASSIGN_OR_RETURN(Value * sum, sum_of(product, *a, *b, current));
    b_.CreateStore(sum, cell);
    values_[node] = nullptr;
    return absl::OkStatus();
  }
  HEARTH_ASSIGN_OR_RETURN(Value * update, value(node->source(1)));
  if (update->getType() != type) return malformed(node, "value and accumulator differ in dtype");
  b_.CreateStore(arithmetic_.combine(node->as<ir::ReduceInfo>().kind, node->source(0)->dtype, current, update), cell);
  values_[node] = nullptr;
  return absl::OkStatus();
}

}  // namespace hearth::codegen
