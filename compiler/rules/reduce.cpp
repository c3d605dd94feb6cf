// Reductions that need no loop: ranges of length one and ranges the value does not depend on, a sum that chooses one
// position (one-hot times table: a gather), and integer sums of linear terms over an interval (arange) in closed form.
// A float sum is only collapsed where at most one term is not zero; what it gives has +0 added, as the sum would.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/rebuild.h"
#include "compiler/rules/facts.h"
#include "compiler/rules/range_solve.h"
#include "compiler/rules/rules.h"

namespace hearth::rules {

using ir::Op;
using ir::ReduceKind;
using ir::UOpRef;
using namespace rewrite;

namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;  // squares of sizes stay within int64

ReduceKind kind_of(UOpRef node) { return node->as<ir::ReduceInfo>().kind; }

bool has_load(UOpRef value) {
  return std::ranges::any_of(ir::toposort(value), [](UOpRef node) { return node->is(Op::Load); });
}

// Whether source `s` is a range that may go: no other range's size depends on it, and no load stands in it that is safe
// only because the loop never runs.
bool removable(UOpRef node, std::size_t s) {
  if (!node->source(s)->is(Op::Range)) return false;
  if (node->source(s)->source(0)->bounds.min < 1 && has_load(node->source(0))) return false;
  for (std::size_t other = 1; other < node->sources.size(); ++other) {
    if (other != s && depends_on(node->source(other), node->source(s))) return false;
  }
  return true;
}

// `node` without source `s` (a range), over `value`.
UOpRef without_range(ir::Graph& graph, UOpRef node, std::size_t s, UOpRef value) {
  if (node->sources.size() == 2) return value;
  std::vector<UOpRef> sources(node->sources.begin(), node->sources.end());
  sources[0] = value;
  sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(s));
  return graph.make(Op::Reduce, node->dtype, sources, node->payload);
}

// `value` at range = `at`, every access below it that depends on the range gated by `gate` too.
UOpRef value_at(ir::Graph& graph, UOpRef value, UOpRef range, UOpRef at, UOpRef gate) {
  return rebuild(graph, value, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    if (node == range) return at;
    if (node->is(Op::Index) && !gate->is_const() && !std::ranges::equal(sources, node->sources)) {
      sources.back() =
          sources.back()->is_const() && sources.back()->int_value() ? gate : graph.logical_and(gate, sources.back());
    }
    return nullptr;
  });
}

UOpRef range_of_one(Context& context, UOpRef node, const Match&) {
  for (std::size_t s = 1; s < node->sources.size(); ++s) {
    const UOpRef range = node->source(s);
    if (!removable(node, s) || range->source(0)->bounds != ir::Bounds{1, 1}) continue;
    ir::Graph& graph = context.graph;
    const UOpRef zero = graph.constant(range->dtype, 0);
    return without_range(graph, node, s, value_at(graph, node->source(0), range, zero, graph.boolean(true)));
  }
  return nullptr;
}

// How often the range runs, as the reduction's type (wrapping). Sizes may be symbolic, and negative ones run never.
UOpRef count_as(ir::Graph& graph, UOpRef range, ir::DType dtype) {
  UOpRef size = range->source(0);
  if (size->bounds.min < 0) size = graph.binary(Op::Max, size, graph.constant(size->dtype, 0));
  return graph.cast(size, dtype);
}

UOpRef dead_range(Context& context, UOpRef node, const Match&) {
  const UOpRef value = node->source(0);
  if (node->dtype.lanes != 1) return nullptr;
  const bool chooses = kind_of(node) == ReduceKind::Max || kind_of(node) == ReduceKind::Min || ir::is_bool(node->dtype);
  const bool sums = kind_of(node) == ReduceKind::Sum && ir::is_int(node->dtype);
  if (!chooses && !sums) return nullptr;
  for (std::size_t s = 1; s < node->sources.size(); ++s) {
    const UOpRef range = node->source(s);
    if (!removable(node, s) || (chooses && range->source(0)->bounds.min < 1) || depends_on(value, range)) continue;
    ir::Graph& graph = context.graph;
    if (chooses) return without_range(graph, node, s, value);
    // The count may depend on the ranges that stay.
    return without_range(graph, node, s, graph.mul(value, count_as(graph, range, node->dtype)));
  }
  return nullptr;
}

bool is_plain_zero(UOpRef node) {
  const ir::ConstValue* value = as_const(node);
  if (value == nullptr) return false;
  return value->is_float ? value->f == 0 && !std::signbit(value->f) : value->i == 0;
}

// sum over i of where(i == at && c, x(i), 0) -> where(0 <= at < size && c(at), x(at), 0)
UOpRef choose_one(ir::Graph& graph, UOpRef value, UOpRef range) {
  if (!value->is(Op::Where)) return nullptr;
  UOpRef condition = value->source(0), chosen = value->source(1), zero = value->source(2);
  if (condition->is(Op::Ne)) {
    condition = graph.binary(Op::Eq, condition->source(0), condition->source(1));
    std::swap(chosen, zero);
  }
  if (!is_plain_zero(zero)) return nullptr;
  const std::vector<UOpRef> parts = conjuncts(condition);
  for (UOpRef part : parts) {
    const std::optional<Solved> solved = part->is(Op::Eq) ? solve(graph, part, range) : std::nullopt;
    if (!solved) continue;
    const UOpRef at = solved->at;
    const UOpRef inside = graph.logical_and(graph.lt(graph.index(-1), at), graph.lt(at, range->source(0)));
    UOpRef gate = inside;
    for (UOpRef other : parts) {
      if (other != part) gate = graph.logical_and(gate, value_at(graph, other, range, at, inside));
    }
    UOpRef result = value_at(graph, chosen, range, at, inside);
    if (ir::is_float(result->dtype)) result = graph.add(result, graph.constant(result->dtype, 0.0));
    return graph.where(gate, result, zero);
  }
  return nullptr;
}

UOpRef one_hot_sum(Context& context, UOpRef node, const Match&) {
  if (kind_of(node) != ReduceKind::Sum || node->dtype.lanes != 1 || ir::is_bool(node->dtype)) return nullptr;
  for (std::size_t s = 1; s < node->sources.size(); ++s) {
    const UOpRef range = node->source(s);
    if (!removable(node, s) || !ir::is_index(range->dtype)) continue;
    if (UOpRef one = choose_one(context.graph, node->source(0), range)) {
      return without_range(context.graph, node, s, one);
    }
  }
  return nullptr;
}

// Sums of `dtype` over low <= range < high, in closed form.
class ClosedSum {
 public:
  ClosedSum(ir::Graph& graph, UOpRef range, ir::DType dtype) : graph_(graph), range_(range), dtype_(dtype) {}

  // Null: not a sum of linear terms under conditions on the range.
  UOpRef sum(UOpRef value, UOpRef low, UOpRef high, int depth) {
    if (auto linear = linear_in_range(value, 8)) return sum_of(*linear, low, high);
    if (depth == 0) return nullptr;
    if (value->is(Op::Cast) && value->source(0)->dtype == ir::DType(ir::Scalar::Bool)) {
      return choose(value->source(0), graph_.constant(dtype_, 1), graph_.constant(dtype_, 0), low, high, depth);
    }
    if (value->is(Op::Where)) return choose(value->source(0), value->source(1), value->source(2), low, high, depth);
    if (value->is(Op::Add) || value->is(Op::Sub)) {
      const UOpRef a = sum(value->source(0), low, high, depth - 1);
      const UOpRef b = a == nullptr ? nullptr : sum(value->source(1), low, high, depth - 1);
      return b == nullptr ? nullptr : graph_.binary(value->op, a, b);
    }
    for (std::size_t s = 0; value->is(Op::Mul) && s < 2; ++s) {
      if (depends_on(value->source(s), range_)) continue;
      const UOpRef a = sum(value->source(1 - s), low, high, depth - 1);
      return a == nullptr ? nullptr : graph_.mul(a, value->source(s));
    }
    return nullptr;
  }

 private:
  // slope * range + offset; a null part is zero.
  struct Linear {
    UOpRef slope = nullptr, offset = nullptr;
  };

  UOpRef combine(Op op, UOpRef a, UOpRef b) {
    if (b == nullptr) return a;
    if (a == nullptr) return op == Op::Sub ? graph_.unary(Op::Neg, b) : b;
    return graph_.binary(op, a, b);
  }

  std::optional<Linear> linear_in_range(UOpRef value, int depth) {
    if (!depends_on(value, range_)) return Linear{nullptr, value};
    if (value == range_) return Linear{graph_.constant(dtype_, 1), nullptr};
    if (depth == 0) return std::nullopt;
    if (value->is(Op::Cast) && ir::is_index(value->source(0)->dtype)) {  // wrapping keeps sums and products
      auto inner = ClosedSum(graph_, range_, value->source(0)->dtype).linear_in_range(value->source(0), depth - 1);
      if (!inner) return std::nullopt;
      return Linear{inner->slope ? graph_.cast(inner->slope, dtype_) : nullptr,
                    inner->offset ? graph_.cast(inner->offset, dtype_) : nullptr};
    }
    if (value->is(Op::Neg)) {
      auto a = linear_in_range(value->source(0), depth - 1);
      if (!a) return std::nullopt;
      return Linear{combine(Op::Sub, nullptr, a->slope), combine(Op::Sub, nullptr, a->offset)};
    }
    if (value->is(Op::Add) || value->is(Op::Sub)) {
      auto a = linear_in_range(value->source(0), depth - 1), b = linear_in_range(value->source(1), depth - 1);
      if (!a || !b) return std::nullopt;
      return Linear{combine(value->op, a->slope, b->slope), combine(value->op, a->offset, b->offset)};
    }
    for (std::size_t s = 0; value->is(Op::Mul) && s < 2; ++s) {
      if (depends_on(value->source(s), range_)) continue;
      auto a = linear_in_range(value->source(1 - s), depth - 1);
      if (!a) return std::nullopt;
      const UOpRef times = value->source(s);
      return Linear{a->slope ? graph_.mul(a->slope, times) : nullptr,
                    a->offset ? graph_.mul(a->offset, times) : nullptr};
    }
    return std::nullopt;
  }

  UOpRef sum_of(const Linear& linear, UOpRef low, UOpRef high) {
    UOpRef result = nullptr;
    if (linear.offset != nullptr) {
      result = graph_.mul(linear.offset, graph_.cast(graph_.sub(high, low), dtype_));
    }
    if (linear.slope != nullptr) {
      const UOpRef total = graph_.cast(graph_.sub(triangle(high), triangle(low)), dtype_);
      result = combine(Op::Add, result, graph_.mul(linear.slope, total));
    }
    return result == nullptr ? graph_.constant(dtype_, 0) : result;
  }

  // 0 + 1 + ... + (n - 1)
  UOpRef triangle(UOpRef n) { return graph_.floordiv(graph_.mul(n, graph_.add(n, graph_.index(-1))), graph_.index(2)); }

  // The sum of where(condition, yes, no): `yes` over the part of the interval in which the condition holds.
  UOpRef choose(UOpRef condition, UOpRef yes, UOpRef no, UOpRef low, UOpRef high, int depth) {
    if (condition->is(Op::Ne)) {
      return choose(graph_.binary(Op::Eq, condition->source(0), condition->source(1)), no, yes, low, high, depth);
    }
    UOpRef from = low, to = high, outer = graph_.boolean(true);
    for (UOpRef part : conjuncts(condition)) {
      if (!depends_on(part, range_)) {
        outer = outer->is_const() ? part : graph_.logical_and(outer, part);
        continue;
      }
      const std::optional<Solved> solved = solve(graph_, part, range_);
      if (!solved) return nullptr;
      narrow(*solved, high, from, to);
    }
    to = graph_.binary(Op::Max, to, from);
    const UOpRef inside = sum(yes, from, to, depth - 1);
    const UOpRef everywhere = inside == nullptr ? nullptr : sum(no, low, high, depth - 1);
    const UOpRef replaced = everywhere == nullptr ? nullptr : sum(no, from, to, depth - 1);
    if (replaced == nullptr) return nullptr;
    const UOpRef both = graph_.add(inside, graph_.sub(everywhere, replaced));
    return outer->is_const() ? both : graph_.where(outer, both, everywhere);
  }

  // Clamps to 0 .. high before it adds: `at` may be any int64.
  void narrow(const Solved& solved, UOpRef high, UOpRef& from, UOpRef& to) {
    using Kind = Solved::Kind;
    const UOpRef one = graph_.index(1), minus_one = graph_.index(-1);
    auto clamp = [&](UOpRef low, UOpRef x, UOpRef top) {
      return graph_.binary(Op::Max, low, graph_.binary(Op::Min, x, top));
    };
    if (solved.kind == Kind::AtLeast || solved.kind == Kind::Equal) from = clamp(from, solved.at, high);
    if (solved.kind == Kind::Above) {
      from = graph_.add(clamp(graph_.add(from, minus_one), solved.at, graph_.add(high, minus_one)), one);
    }
    if (solved.kind == Kind::Below) to = clamp(graph_.index(0), solved.at, to);
    if (solved.kind == Kind::AtMost || solved.kind == Kind::Equal) {
      to = graph_.add(clamp(minus_one, solved.at, graph_.add(to, minus_one)), one);
    }
  }

  ir::Graph& graph_;
  UOpRef range_;
  ir::DType dtype_;
};

UOpRef arange_sum(Context& context, UOpRef node, const Match&) {
  if (kind_of(node) != ReduceKind::Sum || node->dtype.lanes != 1 || !ir::is_int(node->dtype)) return nullptr;
  for (std::size_t s = 1; s < node->sources.size(); ++s) {
    const UOpRef range = node->source(s);
    if (!removable(node, s) || !ir::is_index(range->dtype)) continue;
    UOpRef size = range->source(0);
    if (size->bounds.max > kMaxSize) continue;
    ir::Graph& graph = context.graph;
    if (size->bounds.min < 0) size = graph.binary(Op::Max, size, graph.index(0));
    if (UOpRef sum = ClosedSum(graph, range, node->dtype).sum(node->source(0), graph.index(0), size, 3)) {
      return without_range(graph, node, s, sum);
    }
  }
  return nullptr;
}

constexpr Rule kReduceRules[] = {
    rule_fn("range_of_one", dsl::any(Op::Reduce), range_of_one),
    rule_fn("dead_range", dsl::any(Op::Reduce), dead_range),
    rule_fn("one_hot_sum", dsl::any(Op::Reduce), one_hot_sum),
    rule_fn("arange_sum", dsl::any(Op::Reduce), arange_sum),
};

}  // namespace

std::span<const Rule> reduce_rules() { return kReduceRules; }

}  // namespace hearth::rules
