#include "compiler/passes/ranged/convolution.h"

#include <algorithm>

#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class Finder {
 public:
  Finder(ir::Graph& g, const StageFacts& facts, std::int64_t window, absl::FunctionRef<bool(UOpRef)> is_invariant)
      : g_(g), facts_(facts), window_(window), is_invariant_(is_invariant) {}

  std::optional<Convolution> run() {
    if (!facts_.contracts || facts_.reductions.size() != 1 || facts_.reduced.size() != 3) return std::nullopt;
    c_.reduce = facts_.reductions.front();
    UOpRef product = c_.reduce->source(0);
    if (!product->is(Op::Mul)) return std::nullopt;
    const auto is_known = [](UOpRef range) { return constant_length(range) > 0; };
    const auto has_turns = [](UOpRef range) { return range->source(0)->bounds.max > 0; };
    if (!std::ranges::all_of(facts_.loops, has_turns) || !std::ranges::all_of(facts_.reduced, is_known))
      return std::nullopt;
    c_.image = product->source(0), c_.weights = product->source(1);
    if (!is_fixed(c_.weights)) std::swap(c_.image, c_.weights);
    if (!is_fixed(c_.weights) || !find_channels() || !find_window()) return std::nullopt;
    for (UOpRef loop : facts_.loops) {
      if (loop != c_.made && loop != c_.row && loop != c_.column) c_.batch.push_back(loop);
    }
    return c_;
  }

 private:
  static std::vector<UOpRef> nodes_of(UOpRef x) { return nodes_below({&x, 1}); }
  static bool moves(UOpRef x, UOpRef range) { return contains(free_ranges({x}), range); }

  bool is_fixed(UOpRef weights) const {
    return std::ranges::all_of(nodes_of(weights), [&](UOpRef x) {
      return !x->is(Op::Var) && (!x->is(Op::Index) || is_invariant_(x->source(0)));
    });
  }

  // The loop that moves the weights, alone.
  bool find_channels() {
    for (UOpRef loop : facts_.loops) {
      if (!moves(c_.weights, loop)) continue;
      if (c_.made || moves(c_.image, loop)) return false;  // of groups
      c_.made = loop;
    }
    return c_.made != nullptr && constant_length(c_.made) > 0;
  }

  bool find_window() {
    for (UOpRef side : facts_.reduced) {
      UOpRef loop = constant_length(side) == window_ ? loop_along(side) : nullptr;
      if (loop == nullptr) {
        if (c_.summed) return false;
        c_.summed = side;
      } else if (c_.row == nullptr) {
        c_.row = loop, c_.window_row = side;
      } else {
        c_.column = loop, c_.window_column = side;
      }
    }
    return c_.summed && c_.column && moves(c_.weights, c_.summed);
  }

  // That moves the image as the window's side does.
  UOpRef loop_along(UOpRef side) {
    for (UOpRef loop : facts_.loops) {
      if (loop != c_.made && loop != c_.row && moves(c_.image, loop) && moves_alike(loop, side)) return loop;
    }
    return nullptr;
  }

  bool moves_alike(UOpRef loop, UOpRef side) {
    if (loop->source(0)->bounds.max < 2) return false;  // a loop of one turn is no place
    const auto both =
        simplified_below(g_, g_.make(Op::Sink, ir::Scalar::Void, {stepped(c_.image, loop), stepped(c_.image, side)}));
    return both.ok() && (*both)->source(0) == (*both)->source(1);
  }
  UOpRef stepped(UOpRef value, UOpRef range) {
    const std::pair<UOpRef, UOpRef> map[] = {{range, ir::fold_add(g_, range, g_.index(1))}};
    return replaced_below(g_, value, map);
  }

  ir::Graph& g_;
  const StageFacts& facts_;
  const std::int64_t window_;
  absl::FunctionRef<bool(UOpRef)> is_invariant_;
  Convolution c_;
};

}  // namespace

std::int64_t constant_length(UOpRef range) { return range->source(0)->is_const() ? range->source(0)->int_value() : 0; }

std::optional<Convolution> find_convolution(ir::Graph& graph, const StageFacts& stage, std::int64_t window,
                                            absl::FunctionRef<bool(UOpRef)> is_invariant) {
  return Finder(graph, stage, window, is_invariant).run();
}

}  // namespace hearth::passes
