// Inequalities: whether an index expression is never negative wherever some conditions hold and every range is inside
// its loop. Sound and not complete; work is bounded by a number of steps, so a proof costs microseconds.
//
// Method: eliminate the last-made atom by a bound on it (its loop, its own bounds, a condition solved for it, what div,
// mod, min, max and where mean), with the sign of its factor; then the next, until the atoms' own bounds decide. One
// side of Fourier-Motzkin elimination, depth first; for index sums of nested loops the first choice is nearly always
// it.
//
//   Inequalities known(graph);
//   known.assume(gate);                                  // i < n
//   known.proves_below(i * 4 + k, n * 4);                // true: k is a range of size 4
#pragma once
#include <optional>
#include <vector>

#include "compiler/rules/polynomial.h"

namespace hearth::rules {

class Inequalities {
 public:
  explicit Inequalities(ir::Graph& graph) : graph_(graph) {}

  // `condition` holds: a conjunction of comparisons of scalar indices; others say nothing.
  void assume(ir::UOpRef condition, bool holds = true);
  // value >= least
  void assume_at_least(ir::UOpRef value, std::int64_t least);

  bool proves_non_negative(ir::UOpRef value);
  bool proves_below(ir::UOpRef value, ir::UOpRef limit);

 private:
  // goal = factor * atom + rest, least where the atom is least (rises) or greatest.
  struct Step {
    ir::UOpRef atom;
    Polynomial factor, rest;
    bool rises;
    int depth;
  };
  bool start(Polynomial goal);
  bool prove(Polynomial goal, int depth);
  bool prove_apart(const Polynomial& goal);  // for its own sake, on the way to another goal
  bool prove_step(const Step& step, const Polynomial& goal);
  bool prove_with(const Step& step, const Polynomial& value);
  bool prove_with_fact(const Step& step, const Polynomial& fact);
  bool prove_choice(const Step& step);
  bool prove_modulo(const Step& step, const Polynomial& goal);
  bool prove_own_bound(const Step& step);
  bool prove_by_quotients(const Step& step);
  bool prove_constant_bound(const Step& step);
  // 1: never negative, -1: never positive, 0: not known.
  int sign(const Polynomial& value);
  void assume_difference(ir::UOpRef a, ir::UOpRef b, std::int64_t at_least);  // a - b >= at_least
  void add_fact(Polynomial fact);                                             // and what it says without div and mod
  std::optional<std::int64_t> least(ir::UOpRef atom) const;
  bool rises_from_least(const Polynomial& goal) const;

  ir::Graph& graph_;
  std::vector<Polynomial> facts_;       // each >= 0
  std::vector<ir::UOpRef> eliminated_;  // on the way to the goal at hand
  bool contradiction_ = false;          // the facts never hold together: anything does
  int steps_left_ = 0, goals_open_ = 0;
};

}  // namespace hearth::rules
