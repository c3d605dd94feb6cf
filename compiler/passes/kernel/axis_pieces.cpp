#include "compiler/passes/kernel/axis_pieces.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/rebuild.h"
#include "compiler/rules/polynomial.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::RangeKind;
using ir::UOpRef;
using schedule::Opt;

// The kind of range that `opt` makes.
RangeKind kind_of(const Opt& opt) {
  if (opt.kind == Opt::Kind::Unroll || opt.kind == Opt::Kind::Spread) return RangeKind::Unroll;
  if (opt.kind == Opt::Kind::Workgroup) return RangeKind::Invocation;
  return opt.kind == Opt::Kind::Dot ? RangeKind::Dot : RangeKind::Lanes;
}

}  // namespace

AxisPieces pieces_of(FreshAxes& axes, UOpRef range, const Opt& opt, bool fills_up) {
  ir::Graph& g = axes.graph();
  const auto& info = range->as<ir::RangeInfo>();
  UOpRef size = range->source(0), amount = g.index(opt.amount);
  if (opt.kind == Opt::Kind::Split) {
    AxisPieces p;
    p.main_position = g.index(0);
    if (opt.amount > 1) p.main_position = p.main_range = g.range(amount, info.axis, info.kind);
    p.tail_position = amount;
    if (UOpRef rest = ir::fold_sub(g, size, amount); rest != g.index(1)) {
      p.tail_range = axes.range(rest, info.kind);
      p.tail_position = ir::fold_add(g, amount, p.tail_range);
    }
    return p;
  }
  UOpRef count = simplified_length(g, ir::fold_floordiv(g, size, amount)),
         rest = simplified_length(g, ir::fold_floormod(g, size, amount));
  if (!size->is_const() && amount->is_const() && is_multiple(size, amount->int_value())) rest = g.index(0);
  AxisPieces p;
  if (count->bounds.max > 0) {
    p.inner = axes.range(amount, kind_of(opt));
    bool once = count == g.index(1);
    p.main_range = once ? nullptr : g.range(count, info.axis, info.kind);
    const bool is_apart = opt.kind == Opt::Kind::Spread && !once;
    UOpRef in_steps = is_apart ? p.inner : p.main_range, at = is_apart ? p.main_range : p.inner;
    p.main_position = once ? p.inner : ir::fold_add(g, ir::fold_mul(g, in_steps, is_apart ? count : amount), at);
  }
  if (rest != g.index(0)) {
    UOpRef at = g.index(0);
    const bool masked = opt.kind == Opt::Kind::Masked && info.kind != RangeKind::Reduce && rest != g.index(1);
    if (masked || fills_up) {
      at = p.tail_inner = axes.range(amount, kind_of(opt));
      p.tail_gate = ir::fold_lt(g, at, rest);
    } else if (opt.kind == Opt::Kind::Unroll && rest->is_const() && rest->int_value() > 1) {
      at = p.tail_inner = axes.range(rest, RangeKind::Unroll);
    } else if (rest != g.index(1)) {
      at = p.tail_range = axes.range(rest, info.kind);
    }
    p.tail_position = ir::fold_add(g, ir::fold_mul(g, count, amount), at);
  }
  return p;
}

UOpRef gated(ir::Graph& g, UOpRef root, UOpRef range, UOpRef gate) {
  std::unordered_set<UOpRef> depends = {range};
  return rebuild(g, root, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
    const bool d =
        depends.contains(x) || std::ranges::any_of(x->sources, [&](UOpRef s) { return depends.contains(s); });
    if (d) depends.insert(x);
    if (d && x->is(ir::Op::Index)) sources.back() = ir::fold_and(g, sources.back(), gate);
    return nullptr;
  });
}

UOpRef simplified_length(ir::Graph& g, UOpRef length) {
  if (length->is_const()) return length;
  const auto simplified = rules::simplify(g, length);
  return simplified.ok() ? *simplified : length;
}

bool is_multiple(UOpRef size, std::int64_t amount) {
  rules::Polynomial polynomial;
  polynomial.add(size);
  return polynomial.is_multiple_of(amount);
}

}  // namespace hearth::passes
