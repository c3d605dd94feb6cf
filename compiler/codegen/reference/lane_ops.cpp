#include "compiler/codegen/reference/lane_ops.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;

absl::Status wrong_lanes(ir::UOpRef node) {
  return absl::InvalidArgumentError(
      absl::StrCat("reference: lane counts of ", std::string(ir::op_name(node->op)), " do not agree"));
}

absl::StatusOr<Value> elementwise(ir::UOpRef node, std::span<const Value* const> sources) {
  const ir::Scalar operand = node->source(node->is(Op::Where) ? 1 : 0)->dtype.scalar;
  Value result(node->dtype.lanes);
  Value args(sources.size());
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i]->size() != result.size()) return wrong_lanes(node);
      args[i] = (*sources[i])[lane];
    }
    HEARTH_ASSIGN_OR_RETURN(Element value, evaluate(node->op, node->dtype.scalar, operand, args));
    result[lane] = value;
  }
  return result;
}

absl::StatusOr<Value> stack(ir::UOpRef node, std::span<const Value* const> sources) {
  Value result;
  for (const Value* source : sources) {
    if (source->size() != 1) return wrong_lanes(node);
    result.push_back((*source)[0]);
  }
  return result;
}

Value horizontal(ir::UOpRef node, const Value& source) {
  const ir::Scalar scalar = node->dtype.scalar;
  const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
  Element accumulator = reduce_identity(kind, scalar);
  for (const Element lane : source) accumulator = reduce_step(kind, accumulator_scalar(scalar), accumulator, lane);
  return {normalize(scalar, accumulator)};
}

// Floats are summed in double and rounded once.
absl::StatusOr<Value> wmma(ir::UOpRef node, const Value& a, const Value& b) {
  const auto& info = node->as<ir::WmmaInfo>();
  const ir::Scalar scalar = node->dtype.scalar, exact = accumulator_scalar(scalar);
  const std::size_t m = info.m, n = info.n, k = info.k, group = info.group;
  if (ir::wmma_result(node->source(0)->dtype.scalar, node->source(1)->dtype.scalar) != scalar)
    return absl::InvalidArgumentError("reference: wmma has no such dtypes");
  if (a.size() != m * k || b.size() != k * n) return wrong_lanes(node);
  Value result;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Element sum = reduce_identity(ir::ReduceKind::Sum, scalar);
      for (std::size_t p = 0; p < k / group; ++p) {
        for (std::size_t q = 0; q < group; ++q) {
          const Element args[] = {a[i * k + p * group + q], b[(p * n + j) * group + q]};
          HEARTH_ASSIGN_OR_RETURN(Element product, evaluate(Op::Mul, exact, exact, args));
          sum = reduce_step(ir::ReduceKind::Sum, exact, sum, product);
        }
      }
      result.push_back(normalize(scalar, sum));
    }
  }
  return result;
}

absl::StatusOr<Value> compute(ir::UOpRef node, std::span<const Value* const> sources) {
  switch (node->op) {
    case Op::Const: {
      const auto& payload = node->as<ir::ConstValue>();
      return Value(node->dtype.lanes, normalize(node->dtype.scalar, {payload.i, payload.f}));
    }
    case Op::Stack:
      return stack(node, sources);
    case Op::Broadcast:
      if (sources[0]->size() != 1) return wrong_lanes(node);
      return Value(node->dtype.lanes, (*sources[0])[0]);
    case Op::Extract: {
      const std::uint32_t lane = node->as<ir::LaneInfo>().lane;
      if (lane >= sources[0]->size()) return absl::InvalidArgumentError(absl::StrCat("reference: no lane ", lane));
      return Value{(*sources[0])[lane]};
    }
    case Op::Horizontal:
      return horizontal(node, *sources[0]);
    case Op::Wmma:
      return wmma(node, *sources[0], *sources[1]);
    default:
      break;
  }
  if (ir::is_elementwise(node->op)) return elementwise(node, sources);
  return absl::InvalidArgumentError(
      absl::StrCat("reference: ", std::string(ir::op_name(node->op)), " is not expected here"));
}

}  // namespace

absl::StatusOr<Value> evaluate_lanes(ir::UOpRef node, std::span<const Value* const> sources) {
  absl::StatusOr<Value> result = compute(node, sources);
  if (result.ok() && result->size() != node->dtype.lanes) return wrong_lanes(node);
  return result;
}

}  // namespace hearth::codegen::reference
