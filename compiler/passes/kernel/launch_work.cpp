#include "compiler/passes/kernel/launch_work.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/kernel/evaluations.h"
#include "compiler/rules/polynomial.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr double kMostWork = 1e17;  // beyond it sums may leave 64 bits

bool has_range(UOpRef x) { return contains_op(x, Op::Range); }

// Values that a range, or the quotient that stands for one, takes. A length that depends on other loops counts at its
// bound.
UOpRef turns(ir::Graph& g, UOpRef x) {
  UOpRef range = x->is(Op::Range) ? x : x->source(0), length = range->source(0);
  if (has_range(length)) length = g.index(std::max<std::int64_t>(length->bounds.max, 0));
  if (x->is(Op::Range)) return length;
  if (length->is_const()) return g.index(length->int_value() > 0 ? x->bounds.max - x->bounds.min + 1 : 0);
  const std::int64_t divisor = x->source(1)->int_value();
  return ir::fold_floordiv(g, ir::fold_add(g, length, g.index(divisor - 1)), g.index(divisor));
}

// A sum of products of lengths.
class Sum {
 public:
  explicit Sum(ir::Graph& g) : g_(g) {}

  void add(const std::vector<UOpRef>& depends) {
    UOpRef product = g_.index(1);
    for (UOpRef x : depends) product = ir::fold_mul(g_, product, turns(g_, x));
    ++times_[product->id];
    products_[product->id] = product;
    bound_ += evaluations(depends);
  }
  // Null where it is the same for all values, or too large to be counted.
  UOpRef total() const {
    if (bound_ > kMostWork) return nullptr;
    UOpRef total = g_.index(0);
    for (const auto& [id, times] : times_)
      total = ir::fold_add(g_, total, ir::fold_mul(g_, products_.at(id), g_.index(times)));
    return total->is_const() ? nullptr : total;
  }
  double bound() const { return bound_; }

 private:
  ir::Graph& g_;
  std::map<std::uint32_t, std::int64_t> times_;  // by the product's id
  std::map<std::uint32_t, UOpRef> products_;
  double bound_ = 0;
};

}  // namespace

LaunchWork launch_work(ir::Graph& g, UOpRef flat) {
  Sum ops(g), stored(g);
  Dependence depends;
  for (UOpRef x : toposort(flat)) {
    const std::vector<UOpRef>& of = enter(depends, x);
    if (x->is(Op::Reduce)) {
      ops.add(of);
      close_reduction(depends, x);
    } else if (ir::is_elementwise(x->op) && !is_index(x->dtype) && !is_bool(x->dtype)) {
      ops.add(of);
    }
  }
  for (UOpRef store : flat->sources) stored.add({store->sources.begin() + 2, store->sources.end()});
  return {ops.total(), ops.bound() >= stored.bound() ? ops.total() : stored.total()};
}

UOpRef units_worth_a_thread(ir::Graph& g, UOpRef work, UOpRef units, std::int64_t fork_work) {
  if (work == nullptr || units->bounds.max < 2) return nullptr;
  rules::Polynomial of_all, of_units;
  of_units.add(units);
  if (of_units.terms().size() == 1) {
    of_all.add(work, of_units.terms().front().factor);
    if (const auto of_one = of_all.divided_by(of_units); of_one && of_one->is_constant()) return nullptr;
  }
  UOpRef one = g.index(1);
  UOpRef worth = ir::fold_floordiv(g, ir::fold_mul(g, units, g.index(fork_work)), g.binary(Op::Max, work, one));
  return g.binary(Op::Max, worth, one);
}

}  // namespace hearth::passes
