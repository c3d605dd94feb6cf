#include "compiler/rewrite/rule.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "compiler/rewrite/fold.h"

namespace hearth::rewrite {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

Rule instantiate(const Rule& rule, Op op) {
  Rule result = rule;
  result.lhs = rule.lhs.with_op(op);
  result.rhs = rule.rhs.with_op(op);
  result.when = rule.when.with_op(op);
  result.num_ops = 0;
  return result;
}

std::string to_string(const Rule& rule) {
  std::string text = std::string(rule.name) + ": " + to_string(rule.lhs) + " -> ";
  text += rule.fn != nullptr ? "(function)" : to_string(rule.rhs);
  if (!rule.when.empty()) text += " when " + to_string(rule.when);
  return text;
}

namespace {

using Wide = __int128;

std::optional<Wide> wide_value(UOpRef node) {
  const ir::ConstValue* value = as_const(node);
  if (value == nullptr || value->is_float) return std::nullopt;
  if (node->dtype.scalar == Scalar::U64) return static_cast<Wide>(static_cast<std::uint64_t>(value->i));
  return value->i;
}

std::optional<Wide> wide_bound(UOpRef node, bool max) {
  if (as_const(node) != nullptr) return wide_value(node);
  if (!ir::is_int(node->dtype) && !ir::is_bool(node->dtype)) return std::nullopt;
  const std::int64_t bound = max ? node->bounds.max : node->bounds.min;
  // The ends of int64 stand for "unknown" where the type has no such limit.
  if (node->dtype.scalar == Scalar::Index && (bound == INT64_MAX || bound == INT64_MIN)) return std::nullopt;
  if (node->dtype.scalar == Scalar::U64 && bound == INT64_MAX) return std::nullopt;
  return bound;
}

// The exponent of a power of two.
std::optional<int> exponent(UOpRef node) {
  const std::optional<Wide> value = wide_value(node);
  if (!value || *value <= 0 || (*value & (*value - 1)) != 0) return std::nullopt;
  return std::countr_zero(static_cast<std::uint64_t>(*value));
}

std::optional<Wide> compute(const Pattern& p, int i, const Match& match) {
  const PatternNode& node = p[i];
  switch (node.kind) {
    case NodeKind::Literal:
      return node.value;
    case NodeKind::Capture:
      return wide_value(match.captures[node.capture]);
    case NodeKind::VMin:
      return wide_bound(match.captures[node.capture], false);
    case NodeKind::VMax:
      return wide_bound(match.captures[node.capture], true);
    case NodeKind::Log2:
      return exponent(match.captures[node.capture]);
    case NodeKind::Operation:
      break;
    default:
      return std::nullopt;
  }
  const std::optional<Wide> a = compute(p, node.sources[0], match);
  if (node.num_sources == 1) {
    if (!a) return std::nullopt;
    return node.op == Op::Neg ? -*a : node.op == Op::Not ? Wide{*a == 0} : *a < 0 ? -*a : *a;
  }
  const std::optional<Wide> b = compute(p, node.sources[1], match);
  if (node.op == Op::Or && ((a && *a != 0) || (b && *b != 0))) return Wide{1};
  if (!a || !b) return std::nullopt;
  Wide result = 0;
  switch (node.op) {
    case Op::Add:
      return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional<Wide>(result);
    case Op::Sub:
      return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : std::optional<Wide>(result);
    case Op::Mul:
      return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional<Wide>(result);
    case Op::FloorDiv:
    case Op::FloorMod: {
      if (*b == 0) return Wide{0};
      const Wide q = *a / *b, m = *a % *b;
      const bool adjust = m != 0 && ((m < 0) != (*b < 0));
      if (node.op == Op::FloorDiv) return adjust ? q - 1 : q;
      return adjust ? m + *b : m;
    }
    case Op::Max:
      return *a > *b ? *a : *b;
    case Op::Min:
      return *a < *b ? *a : *b;
    case Op::Lt:
      return Wide{*a < *b};
    case Op::Le:
      return Wide{*a <= *b};
    case Op::Eq:
      return Wide{*a == *b};
    case Op::Ne:
      return Wide{*a != *b};
    case Op::And:
      return Wide{*a != 0 && *b != 0};
    case Op::Or:
      return Wide{0};
    default:
      return std::nullopt;
  }
}

struct Builder {
  ir::Graph& graph;
  const Pattern& p;
  const Match& match;
  UOpRef root;

  DType dtype_of(Sort sort, DType place) const {
    if (sort == Sort::Element) return match.element;
    if (sort == Sort::Bool) return DType(Scalar::Bool, place.lanes);
    return place;
  }
  // dtype of the operands of node `i`, whose own place has dtype `place`.
  DType operand_dtype(int i, DType place) const {
    for (int s = p[i].op == Op::Where ? 1 : 0; s < p[i].num_sources; ++s) {
      if (Sort sort = sort_of(p, p[i].sources[s]); sort != Sort::Unknown) return dtype_of(sort, place);
    }
    return place;
  }
  std::optional<ir::ConstValue> compute_const(int i, DType place) const {
    const PatternNode& node = p[i];
    if (node.kind == NodeKind::Literal) return wrap_literal(place, node.value);
    if (node.kind == NodeKind::Capture) {
      const ir::ConstValue* value = as_const(match.captures[node.capture]);
      return value == nullptr ? std::nullopt : std::optional<ir::ConstValue>(*value);
    }
    if (node.kind == NodeKind::Log2) {
      const std::optional<int> value = exponent(match.captures[node.capture]);
      return value ? std::optional<ir::ConstValue>(wrap_literal(place, *value)) : std::nullopt;
    }
    if (node.kind != NodeKind::Operation) return std::nullopt;
    const DType operand = operand_dtype(i, place);
    std::array<ir::ConstValue, 3> args;
    for (int s = 0; s < node.num_sources; ++s) {
      auto arg = compute_const(node.sources[s], operand);
      if (!arg) return std::nullopt;
      args[s] = *arg;
    }
    const DType result = ir::op_class(node.op) == ir::OpClass::Compare ? DType(Scalar::Bool, operand.lanes) : operand;
    return fold(node.op, result.element(), operand.element(), std::span(args.data(), node.num_sources));
  }
  // The root with these sources in front, where both sides have them.
  UOpRef with_rest(std::span<const UOpRef> front) const {
    std::vector<UOpRef> sources(root->sources.begin(), root->sources.end());
    std::ranges::copy(front, sources.begin());
    return graph.with_sources(root, sources);
  }
  UOpRef build(int i, DType place) const {
    const PatternNode& node = p[i];
    switch (node.kind) {
      case NodeKind::Capture:
        return match.captures[node.capture];
      case NodeKind::Literal:
        return make_const(graph, place, wrap_literal(place, node.value));
      case NodeKind::Fold: {
        const DType dtype = dtype_of(sort_of(p, i), place);
        auto value = compute_const(node.sources[0], dtype);
        return value ? make_const(graph, dtype, *value) : nullptr;
      }
      case NodeKind::Operation:
        break;
      default:
        return nullptr;
    }
    const DType operand = operand_dtype(i, place);
    std::array<UOpRef, 4> sources{};
    for (int s = 0; s < node.num_sources; ++s) {
      if (p[node.sources[s]].kind == NodeKind::Rest) return with_rest(std::span(sources.data(), s));
      const bool is_condition = node.op == Op::Where && s == 0;
      sources[s] = build(node.sources[s], is_condition ? DType(Scalar::Bool, operand.lanes) : operand);
      if (sources[s] == nullptr) return nullptr;
    }
    const DType compared(Scalar::Bool, operand.lanes);
    const DType result = ir::op_class(node.op) == ir::OpClass::Compare        ? compared
                         : node.op == Op::Cast                                ? match.element
                         : node.op == Op::Broadcast || node.op == Op::Bitcast ? place
                                                                              : operand;
    return graph.make(node.op, result, std::span<const UOpRef>(sources.data(), node.num_sources));
  }
};

}  // namespace

bool holds(const Pattern& when, const Match& match) {
  if (when.empty()) return true;
  const std::optional<Wide> value = compute(when, 0, match);
  return value && *value != 0;
}

UOpRef build(ir::Graph& graph, const Pattern& pattern, const Match& match, UOpRef root) {
  return Builder{graph, pattern, match, root}.build(0, root->dtype);
}

UOpRef apply(const Rule& rule, Context& context, UOpRef node) {
  UOpRef result = nullptr;
  const bool applies = match(rule.lhs, rule.dtypes, node, [&](const Match& match) {
    // Where no capture fixed the element type, the root does.
    const bool open = rule.fn == nullptr && match.element.scalar == Scalar::Void;
    if (open && (dtype_class(node->dtype) & rule.dtypes) == 0) return false;
    if (!holds(rule.when, match)) return false;
    if (rule.types != nullptr &&
        !rule.types(match[dsl::u]->dtype.element(), match.through.element(), node->dtype.element()))
      return false;
    result = rule.fn != nullptr ? rule.fn(context, node, match) : build(context.graph, rule.rhs, match, node);
    return result != nullptr && result != node && result->dtype == node->dtype;
  });
  return applies ? result : nullptr;
}

}  // namespace hearth::rewrite
