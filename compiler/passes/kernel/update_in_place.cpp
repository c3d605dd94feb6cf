#include "compiler/passes/kernel/update_in_place.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/report.h"
#include "compiler/rules/facts.h"
#include "compiler/rules/inequality.h"
#include "compiler/rules/range_solve.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class Updater {
 public:
  Updater(ir::Graph& g, UOpRef store, std::uint32_t slot) : g_(g), store_(store), slot_(slot) {}

  // What differs, with `from`, `to` of `loop` as where it does; false where nothing is known to be the same.
  bool run() {
    UOpRef value = store_->source(1);
    while (value->is(Op::Where)) {
      const bool keeps_first = is_kept(value->source(1), value->source(0));
      if (!keeps_first && !is_kept(value->source(2), nullptr)) break;
      if (!narrow(value->source(0), !keeps_first)) return false;
      value = value->source(keeps_first ? 2 : 1);
    }
    changed_ = value;
    return loop_ != nullptr && !reads_memory(value);
  }

  UOpRef store() {
    const std::size_t at =
        static_cast<std::size_t>(std::ranges::find(store_->sources, loop_) - store_->sources.begin());
    UOpRef from = from_ ? not_below(g_.index(0), from_) : g_.index(0);
    UOpRef to = to_ ? not_above(loop_->source(0), to_) : loop_->source(0);
    UOpRef length = ir::fold_sub(g_, to, from);
    if (length->bounds.min < 0 && !is_proved(length)) length = g_.binary(Op::Max, length, g_.index(0));
    std::vector<UOpRef> sources(store_->sources.begin(), store_->sources.end());
    sources[1] = changed_;
    UOpRef loop = g_.range(length, loop_->as<ir::RangeInfo>().axis, loop_->as<ir::RangeInfo>().kind);
    const std::pair<UOpRef, UOpRef> moved[] = {{loop_, ir::fold_add(g_, from, loop)}};
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = i == at ? loop : substitute(g_, sources[i], moved);
    return g_.with_sources(store_, sources);
  }

 private:
  bool is_proved(UOpRef non_negative) { return rules::Inequalities(g_).proves_non_negative(non_negative); }

  // The loop's own ends hold as well.
  UOpRef not_below(UOpRef low, UOpRef x) {
    return is_proved(ir::fold_sub(g_, x, low)) ? x : g_.binary(Op::Max, x, low);
  }
  UOpRef not_above(UOpRef high, UOpRef x) {
    return is_proved(ir::fold_sub(g_, high, x)) ? x : g_.binary(Op::Min, x, high);
  }

  bool is_memory(UOpRef index) const {
    return index->source(0)->is(Op::Param) && index->source(0)->as<ir::ParamInfo>().slot == slot_;
  }

  // The element that is there; a gate may say no more than `given`, under which it is read.
  bool is_kept(UOpRef x, UOpRef given) const {
    if (!x->is(Op::Load) || x->sources.size() > 1 || !is_memory(x->source(0))) return false;
    if (x->source(0)->source(1) != store_->source(0)->source(1)) return false;
    const std::vector<UOpRef> known = given ? rules::conjuncts(given, Op::And) : std::vector<UOpRef>();
    return std::ranges::all_of(rules::conjuncts(x->source(0)->source(2), Op::And), [&](UOpRef c) {
      return c == g_.boolean(true) || std::ranges::find(known, c) != known.end();
    });
  }

  bool reads_memory(UOpRef value) const {
    const std::vector<UOpRef> nodes = toposort(value);
    return std::ranges::any_of(nodes, [&](UOpRef x) { return x->is(Op::Index) && is_memory(x); });
  }

  // The value differs only where the condition `holds`: one on a loop of the store and what stays the same in it.
  bool narrow(UOpRef condition, bool holds) {
    const std::vector<UOpRef> parts = rules::conjuncts(condition, holds ? Op::And : Op::Or);
    return std::ranges::all_of(parts, [&](UOpRef part) { return narrow_by(part, holds); });
  }

  bool narrow_by(UOpRef comparison, bool holds) {
    if (!comparison->is(Op::Lt)) return false;
    UOpRef a = comparison->source(0), b = comparison->source(1);
    const auto is_loop = [&](UOpRef x) {
      const auto loops = store_->sources.subspan(2);
      return x->is(Op::Range) && std::ranges::find(loops, x) != loops.end() && (!loop_ || loop_ == x);
    };
    if (is_loop(a) && !rules::depends_on(b, a)) {
      loop_ = a;
      holds ? ends_at(b) : begins_at(b);
      return true;
    }
    if (is_loop(b) && !rules::depends_on(a, b)) {
      loop_ = b;
      UOpRef next = ir::fold_add(g_, a, g_.index(1));
      holds ? begins_at(next) : ends_at(next);
      return true;
    }
    return false;
  }

  void begins_at(UOpRef x) { from_ = from_ && from_ != x ? g_.binary(Op::Max, from_, x) : x; }
  void ends_at(UOpRef x) { to_ = to_ && to_ != x ? g_.binary(Op::Min, to_, x) : x; }

  ir::Graph& g_;
  UOpRef store_;
  std::uint32_t slot_;
  UOpRef changed_ = nullptr, loop_ = nullptr, from_ = nullptr, to_ = nullptr;
};

}  // namespace

absl::StatusOr<std::optional<UOpRef>> update_in_place(ir::Graph& g, UOpRef kernel, std::uint32_t slot) {
  if (kernel->sources.size() != 1 || kernel->source(0)->source(0)->source(2) != g.boolean(true)) return std::nullopt;
  Updater updater(g, kernel->source(0), slot);
  if (!updater.run()) return std::nullopt;
  HEARTH_ASSIGN_OR_RETURN(UOpRef updated, rules::simplify(g, g.with_sources(kernel, std::vector{updater.store()})));
  return updated;
}

absl::StatusOr<std::optional<UOpRef>> update_in_place(ir::Graph& g, UOpRef kernel, UOpRef buffer, const Kernel& out) {
  const auto found = std::ranges::find(out.buffers, buffer);
  if (out.rows || found == out.buffers.end()) return std::nullopt;
  return update_in_place(g, kernel, static_cast<std::uint32_t>(found - out.buffers.begin()));
}

}  // namespace hearth::passes
