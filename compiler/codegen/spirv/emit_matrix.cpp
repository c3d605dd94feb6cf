// Matrices that a subgroup multiplies together (SPV_KHR_cooperative_matrix): which invocation has which element is the
// driver's. A product is one instruction with the sum that it goes to, so that it is emitted where that is updated.
#include <memory>

#include "base/status_macros.h"
#include "compiler/codegen/spirv/emitter.h"

namespace hearth::codegen::spirv {

using ir::MatrixOperand;
using ir::Op;
using ir::UOpRef;

namespace {

struct Placed {
  bool by_columns;
  std::uint32_t stride;
};
Placed placed(const ir::MatrixAccess& access) {
  if (access.column_stride == 1) return {false, access.row_stride};
  return {true, access.column_stride};
}

}  // namespace

void Emitter::find_matrices() {
  for (UOpRef node : kernel_.body) {
    if (node->is(Op::Load)) {
      if (const auto* access = std::get_if<ir::MatrixAccess>(&node->payload)) matrices_.emplace(node, access->unit);
    }
    if (node->is(Op::Wmma)) {
      matrices_.emplace(node, node->as<ir::WmmaInfo>());
      only_summed_.insert(node);
    }
    if (node->is(Op::AccUpdate) && is_matrix(node->source(1)))
      matrices_.emplace(node->source(0), matrices_.at(node->source(1)));
  }
  for (UOpRef node : kernel_.body) {
    if (node->is(Op::AccResult) && is_matrix(node->source(0))) matrices_.emplace(node, matrices_.at(node->source(0)));
    if (node->is(Op::AccUpdate)) continue;
    for (UOpRef source : node->sources) only_summed_.erase(source);
  }
}

Emitter::Id Emitter::zero_sums(const ir::WmmaInfo& unit, ir::Scalar scalar) {
  const Id type = m_.matrix_type(unit, MatrixOperand::Sum, scalar);
  const Id zero = scalar == ir::Scalar::I32 ? b_.makeIntConstant(0) : m_.real(m_.f32(), 0);
  return b_.createOp(spv::OpCompositeConstruct, type, std::vector<Id>{zero});
}

absl::StatusOr<Emitter::Id> Emitter::product(UOpRef wmma, Id sums) {
  HEARTH_ASSIGN_OR_RETURN(const Id a, value(wmma->source(0)));
  HEARTH_ASSIGN_OR_RETURN(const Id b, value(wmma->source(1)));
  const Id type = m_.matrix_type(wmma->as<ir::WmmaInfo>(), MatrixOperand::Sum, wmma->dtype.scalar);
  using Operand = spv::IdImmediate;
  std::vector<Operand> operands = {{true, a}, {true, b}, {true, sums}};
  constexpr unsigned kAllSigned = 15;  // both operands, the sums and the result
  if (ir::is_int(wmma->dtype)) operands.push_back({false, kAllSigned});
  return b_.createOp(kOpCooperativeMatrixMulAdd, type, operands);
}

absl::Status Emitter::emit_matrix(UOpRef node) {
  switch (node->op) {
    case Op::Acc:
    case Op::AccResult:
      return accumulate_matrix(node);
    case Op::Wmma: {
      if (only_summed_.contains(node)) return absl::OkStatus();
      HEARTH_ASSIGN_OR_RETURN(const Id result, product(node, zero_sums(node->as<ir::WmmaInfo>(), node->dtype.scalar)));
      values_[node] = result;
      return absl::OkStatus();
    }
    case Op::Load: {
      HEARTH_ASSIGN_OR_RETURN(const Access access, access_of(node->source(0)));
      const auto& matrix = node->as<ir::MatrixAccess>();
      if (!access.is_shared || access.gate != spv::NoResult)
        return malformed(node, "a matrix is loaded from a workgroup's memory");
      const auto [by_columns, stride] = placed(matrix);
      using Operand = spv::IdImmediate;
      values_[node] =
          b_.createOp(kOpCooperativeMatrixLoad, m_.matrix_type(matrix.unit, matrix.operand, node->dtype.scalar),
                      std::vector<Operand>{{true, access.pointer},
                                           {true, m_.integer(32, by_columns ? 1 : 0)},
                                           {true, m_.integer(32, stride)},
                                           {false, static_cast<unsigned>(spv::MemoryAccessNonPrivatePointerMask)}});
      return absl::OkStatus();
    }
    default:
      return malformed(node, "no code for a matrix here");
  }
}

absl::Status Emitter::store_matrix(UOpRef node) {
  HEARTH_ASSIGN_OR_RETURN(const Access access, access_of(node->source(0)));
  const auto& matrix = node->as<ir::MatrixAccess>();
  if (!access.is_shared || access.gate != spv::NoResult || !is_matrix(node->source(1)))
    return malformed(node, "a matrix is stored to a workgroup's memory");
  HEARTH_ASSIGN_OR_RETURN(const Id sums, value(node->source(1)));
  const auto [by_columns, stride] = placed(matrix);
  b_.createNoResultOp(
      kOpCooperativeMatrixStore,
      std::vector<spv::IdImmediate>{{true, access.pointer},
                                    {true, sums},
                                    {true, m_.integer(32, by_columns ? 1 : 0)},
                                    {true, m_.integer(32, stride)},
                                    {false, static_cast<unsigned>(spv::MemoryAccessNonPrivatePointerMask)}});
  values_[node] = spv::NoResult;
  return absl::OkStatus();
}

absl::Status Emitter::accumulate_matrix(UOpRef node) {
  if (node->is(Op::Acc)) {
    const ir::WmmaInfo& unit = matrices_.at(node);
    const Id cell = variable(m_.matrix_type(unit, MatrixOperand::Sum, node->dtype.scalar), "sums");
    b_.createStore(zero_sums(unit, node->dtype.scalar), cell);
    values_[node] = cell;
    return absl::OkStatus();
  }
  HEARTH_ASSIGN_OR_RETURN(const Id cell, value(node->source(0)));
  const Id current = b_.createLoad(cell, spv::NoPrecision);
  if (node->is(Op::AccResult)) {
    values_[node] = current;
    return absl::OkStatus();
  }
  UOpRef wmma = node->source(1);
  if (!wmma->is(Op::Wmma) || node->as<ir::ReduceInfo>().kind != ir::ReduceKind::Sum)
    return malformed(node, "a sum of matrices has products only");
  HEARTH_ASSIGN_OR_RETURN(const Id next, product(wmma, current));
  b_.createStore(next, cell);
  values_[node] = spv::NoResult;
  return absl::OkStatus();
}

}  // namespace hearth::codegen::spirv
