#include "compiler/passes/lowered/place_barriers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/ir/affine.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class BarrierPlacer {
 public:
  BarrierPlacer(ir::Graph& g, std::vector<UOpRef> body, std::span<const UOpRef> shared)
      : g_(g), body_(std::move(body)), shared_(shared) {}

  std::vector<UOpRef> run() {
    find_accesses();
    // Barriers of rounds stand in the loop, where they also separate the code before it from the code in it. The first
    // that has to stand somewhere is often enough for what comes behind it.
    for (std::size_t earlier = 0; earlier < accesses_.size(); ++earlier) {
      for (std::size_t later = earlier + 1; later < accesses_.size(); ++later) {
        if (may_meet(accesses_[earlier], accesses_[later])) separate_rounds(accesses_[earlier], accesses_[later]);
      }
    }
    for (std::size_t later = 0; later < accesses_.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (may_meet(accesses_[earlier], accesses_[later])) separate(accesses_[earlier], accesses_[later]);
      }
    }
    return with_barriers();
  }

 private:
  using Loops = std::vector<std::size_t>;  // places of their ranges in the body, outermost first

  struct Access {
    std::size_t place;
    UOpRef memory;
    bool is_store;
    Loops loops;
    std::optional<std::int64_t> own;
  };

  void find_accesses() {
    Loops open;
    loops_at_.reserve(body_.size());
    for (std::size_t i = 0; i < body_.size(); ++i) {
      UOpRef x = body_[i];
      if (x->is(Op::End)) {
        end_of_[open.back()] = i;
        open.pop_back();
      }
      loops_at_.push_back(open);
      if (x->is(Op::Range) && !ir::is_range(x, ir::RangeKind::Invocation)) open.push_back(i);
      if (x->is(Op::Barrier)) next_id_ = std::max(next_id_, x->as<ir::BarrierInfo>().id + 1);
      if (!x->is(Op::Load) && !x->is(Op::Store)) continue;
      UOpRef memory = x->source(0)->source(0);
      if (std::ranges::find(shared_, memory) != shared_.end())
        accesses_.push_back({i, memory, x->is(Op::Store), open, own_elements_of(x)});
    }
  }

  // True for a load and a store of one memory, unless each invocation keeps to the same elements of its own in both.
  static bool may_meet(const Access& a, const Access& b) {
    return a.memory == b.memory && a.is_store != b.is_store && !(a.own && a.own == b.own);
  }

  // Where an invocation's elements are all as far as its number from multiples of the workgroup's size, and as much
  // farther: how much.
  static std::optional<std::int64_t> own_elements(UOpRef position) {
    const ir::Affine affine = ir::to_affine(position);
    const auto invocation = std::ranges::find_if(
        affine.terms, [](const ir::AffineTerm& t) { return ir::is_range(t.atom, ir::RangeKind::Invocation); });
    if (invocation == affine.terms.end() || invocation->coefficient != 1) return std::nullopt;
    const std::int64_t size = invocation->atom->source(0)->int_value();
    for (const ir::AffineTerm& t : affine.terms) {
      if (t.atom != invocation->atom && t.coefficient % size != 0) return std::nullopt;
    }
    return (affine.constant % size + size) % size;
  }
  static std::optional<std::int64_t> own_elements_of(UOpRef access) {
    const bool is_one = access->is(Op::Load) ? access->dtype.lanes == 1 : access->source(1)->dtype.lanes == 1;
    const bool is_matrix = std::holds_alternative<ir::MatrixAccess>(access->payload);
    return is_one && !is_matrix ? own_elements(access->source(0)->source(1)) : std::nullopt;
  }

  static std::size_t num_common(const Access& a, const Access& b) {
    const auto [in_a, in_b] = std::ranges::mismatch(a.loops, b.loops);
    return static_cast<std::size_t>(in_a - a.loops.begin());
  }

  // In front of the outermost loop around `access` that is not one of the `common` outermost.
  static std::size_t front_of(const Access& access, std::size_t common) {
    return access.loops.size() > common ? access.loops[common] : access.place;
  }

  // Whether one runs whenever control goes from behind `begin` to `end`: not one in a loop that neither is in.
  bool has_barrier(std::size_t begin, std::size_t end, const Access& of, const Access& other) const {
    return std::any_of(barriers_.upper_bound(begin), barriers_.upper_bound(end), [&](std::size_t place) {
      const Loops& loops = loops_at_[place];
      const auto begins = [&](const Loops& longer) {
        return loops.size() <= longer.size() && std::equal(loops.begin(), loops.end(), longer.begin());
      };
      return begins(of.loops) || begins(other.loops);
    });
  }

  void separate(const Access& earlier, const Access& later) {
    if (has_barrier(earlier.place, later.place, earlier, later)) return;
    barriers_.insert(front_of(later, num_common(earlier, later)));
  }

  // The later one in a round of the innermost loop around both, and the earlier one in the next.
  void separate_rounds(const Access& earlier, const Access& later) {
    const std::size_t common = num_common(earlier, later);
    if (common == 0) return;
    const std::size_t loop = earlier.loops[common - 1];
    if (ir::is_range(body_[loop], ir::RangeKind::Grid) || !ir::has_rounds(body_[loop])) return;
    if (has_barrier(later.place, end_of_.at(loop), earlier, later) || has_barrier(loop, earlier.place, earlier, later))
      return;
    barriers_.insert(front_of(earlier, common));
  }

  std::vector<UOpRef> with_barriers() {
    std::vector<UOpRef> body;
    for (std::size_t i = 0; i < body_.size(); ++i) {
      if (barriers_.contains(i))
        body.push_back(g_.make(Op::Barrier, ir::Scalar::Void, {}, ir::BarrierInfo{next_id_++}));
      body.push_back(body_[i]);
    }
    return body;
  }

  ir::Graph& g_;
  std::vector<UOpRef> body_;
  std::span<const UOpRef> shared_;
  std::vector<Access> accesses_;
  std::vector<Loops> loops_at_;  // around each place of the body, in front of which a barrier may stand
  std::map<std::size_t, std::size_t> end_of_;
  std::set<std::size_t> barriers_;  // places in front of which one stands
  std::uint32_t next_id_ = 0;
};

}  // namespace

std::vector<UOpRef> place_barriers(ir::Graph& graph, std::vector<UOpRef> body, std::span<const UOpRef> shared) {
  if (shared.empty()) return body;
  return BarrierPlacer(graph, std::move(body), shared).run();
}

}  // namespace hearth::passes
