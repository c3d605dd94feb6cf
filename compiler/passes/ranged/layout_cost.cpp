#include "compiler/passes/ranged/layout_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/passes/ranged/stages.h"
#include "compiler/schedule/opts.h"
#include "compiler/schedule/tile_cost.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

// How a read moves along an axis of vectors.
enum class Along { Same, Next, Elsewhere };

class Cost {
 public:
  Cost(const StageFacts& stage, const Layouts& layouts, const target::Target& target)
      : s_(stage),
        layouts_(layouts),
        target_(target),
        lanes_(std::max<double>(1, static_cast<double>(target.lanes(4)))),
        results_(extent(stage.loops)),
        depth_(extent(stage.reduced)) {}

  double run() const {
    double best = results_ * depth_ * static_cast<double>(s_.reads.size() + 1);  // one by one
    for (UOpRef axis : s_.loops) {
      if (5 * extent(axis) >= 2 * lanes_) best = std::min(best, s_.contracts ? contraction(axis) : rows(axis));
    }
    if (!s_.contracts) {
      for (UOpRef axis : s_.reduced) best = std::min(best, sums_along(axis));
    }
    return best;
  }

 private:
  static bool moves(const ir::Affine& at, UOpRef range) {
    return std::ranges::any_of(at.terms, [&](const ir::AffineTerm& t) {
      return t.atom == range || (!t.atom->is(Op::Range) && contains(free_ranges({t.atom}), range));
    });
  }
  // Neighbours along the axis are neighbours of what is read, but at the ends of its rows.
  static bool runs(const ir::Affine& at, UOpRef axis) {
    if (at.coefficient_of(axis) == 1) return true;
    return at.terms.size() == 1 && at.terms[0].coefficient == 1 && at.terms[0].atom->is(Op::FloorMod) &&
           ir::to_affine(at.terms[0].atom->source(0)).coefficient_of(axis) == 1;
  }

  Along along(const StageRead& read, UOpRef axis) const {
    if (!contains(read.ranges, axis)) return Along::Same;
    const std::size_t inner = layouts_.innermost(read.from());
    if (inner >= read.position.size() || !runs(read.position[inner], axis)) return Along::Elsewhere;
    const bool digits = read.position[inner].coefficient_of(axis) != 1;  // of a position split over all axes
    for (std::size_t i = 0; i < read.position.size(); ++i) {
      if (i != inner && moves(read.position[i], axis) && !digits) return Along::Elsewhere;
    }
    return Along::Next;
  }

  bool is_gated(const StageRead& read, UOpRef axis) const {
    if (contains(read.gates, axis)) return true;
    return std::ranges::any_of(layouts_.padded(read.from()), [&](std::size_t i) {
      return i < read.position.size() && moves(read.position[i], axis);
    });
  }
  bool is_gated(const StageRead& read) const { return !read.gates.empty() || !layouts_.padded(read.from()).empty(); }

  bool is_contiguous(UOpRef axis) const {
    const std::size_t inner = layouts_.innermost(s_.stage);
    return inner < s_.loops.size() && s_.loops[inner] == axis;
  }

  // Cycles to store a vector along an axis that is not innermost in the result.
  double scatter_cycles(UOpRef axis) const {
    const auto at = std::ranges::find(s_.loops, axis);
    const double apart = extent({at + 1, s_.loops.end()}) * byte_size(s_.stage->dtype);
    return static_cast<std::int64_t>(apart) % kCore.alias_bytes == 0 ? kCore.alias_cycles : kCore.scatter_cycles;
  }

  double vectors(UOpRef axis) const { return std::ceil(extent(axis) / lanes_); }

  double load_cycles(const StageRead& read, UOpRef axis) const {
    switch (along(read, axis)) {
      case Along::Same:
        return kCore.vector_move_cycles / 2;  // mostly kept in a register
      case Along::Next:
        return kCore.vector_move_cycles * (is_gated(read, axis) ? 2 : 1);
      case Along::Elsewhere:
        break;
    }
    return layouts_.is_invariant(read.from()) ? kCore.vector_move_cycles : lanes_;
  }

  // Vectors along a loop, one after the other.
  double rows(UOpRef axis) const {
    double cycles = is_contiguous(axis) ? kCore.vector_move_cycles : scatter_cycles(axis);
    for (const StageRead& read : s_.reads) cycles += load_cycles(read, axis) * (read.in_reduction ? depth_ : 1);
    return cycles * results_ / extent(axis) * vectors(axis);
  }

  // Each result a sum of vectors along a reduced axis. What does not lie along it is gathered, weights too: such
  // kernels pack nothing.
  double sums_along(UOpRef axis) const {
    double cycles = 0;
    for (const StageRead& read : s_.reads) {
      if (!read.in_reduction) continue;
      const double load = along(read, axis) == Along::Elsewhere ? lanes_ : load_cycles(read, axis);
      cycles += load * depth_ / extent(axis) * vectors(axis);
    }
    return (cycles + lanes_ / 2) * results_;
  }

  // Different elements that are read: windows overlap.
  static double elements(const StageRead& read) {
    double all = 1;
    for (const ir::Affine& at : read.position) {
      double reach = 1;
      for (const ir::AffineTerm& t : at.terms) {
        const double last = static_cast<double>(t.atom->bounds.max - t.atom->bounds.min);
        reach += last * static_cast<double>(std::abs(t.coefficient));
      }
      all *= reach;
    }
    return all;
  }

  // A loop that shares no operand of the sum with the vectors' one: the innermost.
  UOpRef rows_axis(UOpRef axis) const {
    for (auto loop = s_.loops.rbegin(); loop != s_.loops.rend(); ++loop) {
      if (*loop == axis || extent(*loop) < 2) continue;
      bool any = false, shared = false;
      for (const StageRead& read : s_.reads) {
        if (!read.in_reduction) continue;
        const bool by_row = contains(read.ranges, *loop);
        any |= by_row;
        shared |= by_row && contains(read.ranges, axis);
      }
      if (any && !shared) return *loop;
    }
    return nullptr;
  }

  double contraction(UOpRef axis) const {
    double row_gates = 0, column_gates = 0, copies = 0, others = 0;
    for (const StageRead& read : s_.reads) {
      const Along how = along(read, axis);
      if (!read.in_reduction) {
        others += load_cycles(read, axis) * results_ / extent(axis) * vectors(axis);
      } else if (how == Along::Same) {
        row_gates += is_gated(read);
      } else if (how == Along::Next) {
        column_gates += is_gated(read, axis);
        copies += 2 * kCore.copy_cycles * elements(read);
      } else if (!layouts_.is_invariant(read.from())) {
        const double copied = extent(read.ranges);  // in the order of the kernel
        if (is_gated(read) || !schedule::is_small_copy(copied, elements(read))) return INFINITY;
        others += kCore.gathered_copy_cycles * copied;
      }
    }
    UOpRef row = rows_axis(axis);
    const double n = extent(axis), m = row ? extent(row) : 1;
    if (column_gates > 0) others += copies;  // padded in memory
    const double plane =
        schedule::plane_cycles(target_, static_cast<std::int64_t>(n), static_cast<std::int64_t>(m), row_gates);
    if (!is_contiguous(axis)) others += results_ / lanes_ * scatter_cycles(axis);
    return plane * results_ / n / m * depth_ + others;
  }

  const StageFacts& s_;
  const Layouts& layouts_;
  const target::Target& target_;
  const double lanes_, results_, depth_;
};

}  // namespace

double layout_cycles(const StageFacts& stage, const Layouts& layouts, const target::Target& target) {
  return Cost(stage, layouts, target).run();
}

}  // namespace hearth::passes
