#include "compiler/passes/import/import_expr.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/length.h"
#include "compiler/ir/rounding.h"
#include "compiler/ir/shape.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using absl::InvalidArgumentError;
using ir::Op;
using ir::UOpRef;

// Extreme results of an operation at the operands' bounds, exact.
bool within_limits(v1::ExprToken::Kind kind, const ir::Bounds& a, const ir::Bounds& b) {
  using Wide = __int128;
  auto ok = [](Wide v) { return v >= -Wide(kMaxExtent) && v <= Wide(kMaxExtent); };
  switch (kind) {
    case v1::ExprToken::ADD:
      return ok(Wide(a.min) + b.min) && ok(Wide(a.max) + b.max);
    case v1::ExprToken::SUB:
      return ok(Wide(a.min) - b.max) && ok(Wide(a.max) - b.min);
    case v1::ExprToken::MUL:
      return ok(Wide(a.min) * b.min) && ok(Wide(a.min) * b.max) && ok(Wide(a.max) * b.min) && ok(Wide(a.max) * b.max);
    default:
      return true;
  }
}

// A value that can only be one number is that number, so that equal lengths are one node.
UOpRef single_or(ir::Graph& g, UOpRef x) { return x->bounds.min == x->bounds.max ? g.index(x->bounds.min) : x; }

UOpRef apply(ir::Graph& g, v1::ExprToken::Kind kind, UOpRef a, UOpRef b) {
  switch (kind) {
    case v1::ExprToken::ADD:
      return ir::fold_add(g, a, b);
    case v1::ExprToken::SUB:
      return ir::fold_sub(g, a, b);
    case v1::ExprToken::MUL:
      return ir::fold_mul(g, a, b);
    case v1::ExprToken::FLOORDIV:
      return ir::fold_floordiv(g, a, b);
    case v1::ExprToken::FLOORMOD:
      return ir::fold_floormod(g, a, b);
    default: {
      Op op = kind == v1::ExprToken::MIN ? Op::Min : Op::Max;
      if (a->is_const() && b->is_const()) {
        return g.index(op == Op::Min ? std::min(a->int_value(), b->int_value())
                                     : std::max(a->int_value(), b->int_value()));
      }
      return single_or(g, g.binary(op, a, b));
    }
  }
}

}  // namespace

std::uint64_t stored_bytes(const std::vector<UOpRef>& shape, ir::DType dtype) {
  std::uint64_t bytes = byte_size(dtype);
  for (UOpRef length : shape) bytes *= std::max<std::int64_t>(length->bounds.max, 1);
  return bytes;
}

absl::StatusOr<UOpRef> import_expr(ir::Graph& graph, const v1::Expr& expr, const std::vector<UOpRef>& vars) {
  if (expr.tokens_size() > kMaxExprTokens)
    return InvalidArgumentError(
        fmt::format("an expression of {} tokens (at most {})", expr.tokens_size(), kMaxExprTokens));
  std::vector<UOpRef> stack;
  for (const auto& token : expr.tokens()) {
    switch (token.kind()) {
      case v1::ExprToken::CONST:
        if (token.value() > kMaxExtent || token.value() < -kMaxExtent)
          return InvalidArgumentError(fmt::format("{} is out of range", token.value()));
        stack.push_back(graph.index(token.value()));
        continue;
      case v1::ExprToken::VAR:
        if (token.value() < 0 || token.value() >= static_cast<std::int64_t>(vars.size()))
          return InvalidArgumentError(fmt::format("variable {} does not exist", token.value()));
        stack.push_back(single_or(graph, vars[token.value()]));
        continue;
      case v1::ExprToken::ADD:
      case v1::ExprToken::SUB:
      case v1::ExprToken::MUL:
      case v1::ExprToken::FLOORDIV:
      case v1::ExprToken::FLOORMOD:
      case v1::ExprToken::MIN:
      case v1::ExprToken::MAX:
        break;
      default:
        return InvalidArgumentError(fmt::format("expression token {} is unknown", static_cast<int>(token.kind())));
    }
    if (stack.size() < 2) return InvalidArgumentError("an expression misses operands");
    UOpRef b = stack.back();
    stack.pop_back();
    UOpRef a = stack.back();
    stack.pop_back();
    bool divides = token.kind() == v1::ExprToken::FLOORDIV || token.kind() == v1::ExprToken::FLOORMOD;
    if (divides && b->bounds.min < 1)
      return InvalidArgumentError("an expression divides by a value not proved positive");
    if (!within_limits(token.kind(), a->bounds, b->bounds)) return InvalidArgumentError("an expression overflows");
    stack.push_back(apply(graph, token.kind(), a, b));
  }
  if (stack.size() != 1) return InvalidArgumentError("an expression leaves no single value");
  return ir::canonical_length(graph, stack[0]);
}

v1::Expr export_expr(UOpRef root) {
  v1::Expr out;
  struct Frame {
    UOpRef node;
    bool operands_done;
  };
  std::vector<Frame> stack = {{root, false}};
  while (!stack.empty()) {
    Frame frame = stack.back();
    stack.pop_back();
    UOpRef node = frame.node;
    if (node->is_const()) {
      auto* t = out.add_tokens();
      t->set_kind(v1::ExprToken::CONST);
      t->set_value(node->int_value());
    } else if (node->is(Op::Var)) {
      auto* t = out.add_tokens();
      t->set_kind(v1::ExprToken::VAR);
      t->set_value(node->as<ir::VarInfo>().slot);
    } else if (!frame.operands_done) {
      stack.push_back({node, true});
      for (auto it = node->sources.rbegin(); it != node->sources.rend(); ++it) stack.push_back({*it, false});
    } else {
      auto kind = v1::ExprToken::CONST;
      switch (node->op) {
        case Op::Add:
          kind = v1::ExprToken::ADD;
          break;
        case Op::Sub:
          kind = v1::ExprToken::SUB;
          break;
        case Op::Mul:
          kind = v1::ExprToken::MUL;
          break;
        case Op::FloorDiv:
          kind = v1::ExprToken::FLOORDIV;
          break;
        case Op::FloorMod:
          kind = v1::ExprToken::FLOORMOD;
          break;
        case Op::Min:
          kind = v1::ExprToken::MIN;
          break;
        case Op::Max:
          kind = v1::ExprToken::MAX;
          break;
        default:
          std::abort();  // shapes hold nothing else: import built them
      }
      out.add_tokens()->set_kind(kind);
    }
  }
  return out;
}

UOpRef import_scalar(ir::Graph& graph, ir::DType dtype, std::string_view bytes) {
  auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  switch (dtype.scalar) {
    case ir::Scalar::Bool:
      return graph.boolean(bytes[0] != 0);
    case ir::Scalar::I8:
      return graph.constant(dtype, std::int64_t{read(std::int8_t{})});
    case ir::Scalar::U8:
      return graph.constant(dtype, std::int64_t{read(std::uint8_t{})});
    case ir::Scalar::I16:
      return graph.constant(dtype, std::int64_t{read(std::int16_t{})});
    case ir::Scalar::U16:
      return graph.constant(dtype, std::int64_t{read(std::uint16_t{})});
    case ir::Scalar::I32:
      return graph.constant(dtype, std::int64_t{read(std::int32_t{})});
    case ir::Scalar::U32:
      return graph.constant(dtype, std::int64_t{read(std::uint32_t{})});
    case ir::Scalar::I64:
    case ir::Scalar::U64:
      return graph.constant(dtype, read(std::int64_t{}));
    case ir::Scalar::F16:
    case ir::Scalar::BF16:
      return graph.constant(dtype, ir::value_of_bits(dtype, read(std::uint16_t{})));
    case ir::Scalar::F8E4M3:
    case ir::Scalar::F8E5M2:
      return graph.constant(dtype, ir::value_of_bits(dtype, read(std::uint8_t{})));
    case ir::Scalar::F32:
      return graph.constant(dtype, static_cast<double>(read(float{})));
    default:
      return graph.constant(dtype, read(double{}));
  }
}

bool same_count(ir::Graph& graph, const std::vector<UOpRef>& a, const std::vector<UOpRef>& b) {
  const auto count = [&](const std::vector<UOpRef>& shape) {
    // Empty whatever the other lengths are, which may be too many to multiply.
    if (std::ranges::find(shape, graph.index(0)) != shape.end()) return graph.index(0);
    return ir::num_elements(graph, shape);
  };
  return count(a) == count(b);
}

}  // namespace hearth::passes
