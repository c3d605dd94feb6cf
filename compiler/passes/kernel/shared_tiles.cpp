#include "compiler/passes/kernel/shared_tiles.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/affine.h"
#include "compiler/ir/rebuild.h"
#include "compiler/passes/kernel/axis_pieces.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;
using schedule::Opt;

constexpr std::int64_t kMostRounds = 16;  // of copying that are made one after the other, so that their loads overlap
constexpr std::int64_t kWide = 4;         // elements that an invocation reads at once, 16 bytes of f32

std::int64_t length_of(UOpRef range) { return range->source(0)->int_value(); }

RangeKind kind_of(UOpRef range) { return range->as<ir::RangeInfo>().kind; }

class TileSharer {
 public:
  TileSharer(ir::Graph& g, UOpRef kernel) : g_(g), kernel_(kernel), axes_(g, kernel) {}

  absl::StatusOr<UOpRef> run(const Opt& opt) {
    if (kernel_->sources.size() != 1 || !find_ranges() || !find_reduction(opt.axis)) return kernel_;
    if (divided_->source(0)->bounds.max < 2) return kernel_;
    UOpRef divided = divide(opt);
    for (UOpRef x : toposort(divided->source(0))) {
      if (x->is(Op::Load) && x->source(0)->source(0)->is(Op::Param)) copy_if_read_again(x);
    }
    if (copies_.empty()) return kernel_;
    UOpRef reads_copies = rebuild(g_, divided, [&](UOpRef x, ir::Sources&) -> UOpRef {
      const auto found = replaced_.find(x);
      return found == replaced_.end() ? nullptr : found->second;
    });
    const std::pair<UOpRef, UOpRef> map[] = {{reduce_, reads_copies}};
    copies_.push_back(substitute(g_, kernel_->source(0), map));
    return rules::simplify(g_, g_.make(Op::Sink, kernel_->dtype, copies_, kernel_->payload));
  }

 private:
  // Loops around a workgroup, and ranges of its own. False: there is no workgroup.
  bool find_ranges() {
    UOpRef store = kernel_->source(0);
    for (std::size_t i = 2; i < store->sources.size(); ++i) {
      UOpRef range = store->source(i);
      if (kind_of(range) == RangeKind::Loop) {
        loops_.push_back(range);
        continue;
      }
      if ((kind_of(range) != RangeKind::Invocation && kind_of(range) != RangeKind::Unroll) ||
          !range->source(0)->is_const())
        return false;
      if (kind_of(range) == RangeKind::Invocation) invocations_ *= length_of(range);
      within_.push_back(range);
    }
    return invocations_ > 1;
  }

  // The only reduction, if it is over `axis`.
  bool find_reduction(std::uint32_t axis) {
    for (UOpRef x : toposort(kernel_)) {
      if (!x->is(Op::Reduce)) continue;
      if (reduce_) return false;
      reduce_ = x;
    }
    if (!reduce_) return false;
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) {
      const auto& info = reduce_->source(i)->as<ir::RangeInfo>();
      if (info.axis == axis && info.kind == RangeKind::Reduce) divided_ = reduce_->source(i);
    }
    return divided_ != nullptr;
  }

  // The reduction with the axis as a loop over tiles and one within a tile, each left out where it has one turn.
  // Elements beyond the axis' end add nothing.
  UOpRef divide(const Opt& opt) {
    UOpRef size = divided_->source(0);
    const std::int64_t length = std::max<std::int64_t>(1, std::min(opt.amount, size->bounds.max));
    UOpRef amount = g_.index(length), position = g_.index(0), within = nullptr;
    UOpRef count = simplified_length(g_, ir::fold_floordiv(g_, ir::fold_add(g_, size, g_.index(length - 1)), amount));
    std::vector<UOpRef> sources = {nullptr};
    bool is_behind = false;
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) {
      UOpRef range = reduce_->source(i);
      if (range != divided_) {
        (is_behind ? within_ : tiles_).push_back(range);
        sources.push_back(range);
        continue;
      }
      is_behind = true;
      if (count != g_.index(1)) {
        tiles_.push_back(axes_.range(count, RangeKind::Reduce));
        sources.push_back(tiles_.back());
        position = ir::fold_mul(g_, tiles_.back(), amount);
      }
      if (length > 1) {
        within_.push_back(within = axes_.range(amount, RangeKind::Reduce));
        sources.push_back(within);
        position = ir::fold_add(g_, position, within);
      }
    }
    const std::pair<UOpRef, UOpRef> map[] = {{divided_, position}};
    sources[0] = substitute(g_, reduce_->source(0), map);
    if (!is_multiple(size, length)) {
      UOpRef is_inside = ir::fold_lt(g_, position, size);
      sources[0] = gated(sources[0], within, is_inside);
      if (!schedule::is_product_along(reduce_, divided_)) {
        UOpRef nothing = reduce_identity(g_, reduce_->as<ir::ReduceInfo>().kind, reduce_->dtype);
        sources[0] = g_.where(is_inside, sources[0], nothing);
      }
    }
    return g_.with_sources(reduce_, sources);
  }

  // Memory that depends on `range` is touched where `gate` holds.
  UOpRef gated(UOpRef root, UOpRef range, UOpRef gate) {
    std::unordered_set<UOpRef> depends = {range};
    return rebuild(g_, root, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
      const auto is_of = [&](UOpRef s) { return depends.contains(s); };
      if (!is_of(x) && std::ranges::none_of(x->sources, is_of)) return nullptr;
      depends.insert(x);
      if (x->is(Op::Index)) sources.back() = ir::fold_and(g_, sources.back(), gate);
      return nullptr;
    });
  }

  static bool has(const std::vector<UOpRef>& ranges, UOpRef range) {
    return std::ranges::find(ranges, range) != ranges.end();
  }

  // Ranges of the copy of what `load` reads; nothing where it cannot have one.
  std::optional<std::vector<UOpRef>> tile_of(UOpRef load) const {
    if (load->sources.size() > 1) return std::nullopt;  // has an alternative
    std::vector<UOpRef> tile;
    for (UOpRef x : toposort(load)) {
      if (x->is(Op::Reduce) || x->is(Op::Allocate)) return std::nullopt;
      if (!x->is(Op::Range) || has(loops_, x) || has(tiles_, x)) continue;
      if (!has(within_, x) || !x->source(0)->is_const()) return std::nullopt;
      tile.push_back(x);
    }
    return tile;
  }

  static std::int64_t elements_of(const std::vector<UOpRef>& ranges) {
    std::int64_t elements = 1;
    for (UOpRef range : ranges) elements *= length_of(range);
    return elements;
  }

  // Loads by all invocations for a tile.
  std::int64_t reads_of_tile() const {
    std::int64_t reads = 1;
    for (UOpRef range : within_) reads *= std::max<std::int64_t>(1, range->source(0)->bounds.max);
    return reads;
  }

  void copy_if_read_again(UOpRef load) {
    std::optional<std::vector<UOpRef>> tile = tile_of(load);
    if (!tile || tile->empty() || reads_of_tile() < 2 * elements_of(*tile)) return;
    const std::vector<UOpRef> in_memory = by_stride(*tile, load->source(0)->source(1)), in_copy = by_reads(in_memory);
    const std::int64_t elements = elements_of(*tile);
    std::int64_t rows = 1;
    for (UOpRef range : in_copy) rows *= kind_of(range) == RangeKind::Reduce ? length_of(range) : 1;
    // Rows begin at multiples of 16 bytes. Where they are written across, one begins in another bank than the next.
    std::int64_t in_row = (elements / rows + kWide - 1) / kWide * kWide;
    if (in_memory.back() != in_copy.back()) in_row += kWide;
    const auto place = [&](const std::unordered_map<UOpRef, UOpRef>& at) {
      UOpRef position = g_.index(0);
      std::int64_t stride = 1;
      bool is_in_row = true;
      for (auto range = in_copy.rbegin(); range != in_copy.rend(); ++range) {
        if (is_in_row && kind_of(*range) == RangeKind::Reduce) stride = in_row, is_in_row = false;
        position = ir::fold_add(g_, ir::fold_mul(g_, at.at(*range), g_.index(stride)), position);
        stride *= length_of(*range);
      }
      return position;
    };
    const std::uint32_t id = next_allocation_++;
    std::vector<UOpRef> around = loops_;
    around.insert(around.end(), tiles_.begin(), tiles_.end());
    UOpRef copy =
        g_.make(Op::Allocate, load->source(0)->source(0)->dtype, around, ir::AllocationInfo{id, rows * in_row, id});
    const auto at = [&](UOpRef position, UOpRef gate) {
      return g_.make(Op::Index, ir::Scalar::Void, {copy, position, gate});
    };
    std::unordered_map<UOpRef, UOpRef> itself;
    for (UOpRef range : *tile) itself[range] = range;
    replaced_[load] = g_.make(Op::Load, load->dtype, {at(place(itself), g_.boolean(true))});

    // Element `e` of the copy, in the order of memory, by invocation e % invocations in round e / invocations.
    const std::int64_t rounds = (elements + invocations_ - 1) / invocations_;
    UOpRef invocation = axes_.range(g_.index(invocations_), RangeKind::Invocation), e = invocation, round = nullptr;
    if (rounds > 1) {
      round = axes_.range(g_.index(rounds), rounds <= kMostRounds ? RangeKind::Unroll : RangeKind::Loop);
      e = ir::fold_add(g_, ir::fold_mul(g_, round, g_.index(invocations_)), invocation);
    }
    UOpRef is_element = elements % invocations_ == 0 ? g_.boolean(true) : ir::fold_lt(g_, e, g_.index(elements));
    std::unordered_map<UOpRef, UOpRef> written;
    std::vector<std::pair<UOpRef, UOpRef>> map;
    std::int64_t stride = 1;
    for (auto range = in_memory.rbegin(); range != in_memory.rend(); ++range) {
      UOpRef digit = stride == 1 ? e : ir::fold_floordiv(g_, e, g_.index(stride));
      stride *= length_of(*range);
      if (stride < rounds * invocations_) digit = ir::fold_floormod(g_, digit, g_.index(length_of(*range)));
      written[*range] = digit;
      map.emplace_back(*range, digit);
    }
    UOpRef from = substitute(g_, load->source(0), map);
    std::vector<UOpRef> gated_from(from->sources.begin(), from->sources.end());
    gated_from.back() = ir::fold_and(g_, gated_from.back(), is_element);
    std::vector<UOpRef> store = {at(place(written), is_element),
                                 g_.make(Op::Load, load->dtype, {g_.with_sources(from, gated_from)})};
    store.insert(store.end(), around.begin(), around.end());
    if (round) store.push_back(round);
    store.push_back(invocation);
    copies_.push_back(g_.make(Op::Store, ir::Scalar::Void, store));
  }

  // The range along which neighbours in memory lie last.
  static std::vector<UOpRef> by_stride(std::vector<UOpRef> tile, UOpRef position) {
    const ir::Affine affine = ir::to_affine(position);
    const auto stride = [&](UOpRef range) {
      const std::int64_t coefficient = std::abs(affine.coefficient_of(range));
      return coefficient == 0 ? std::numeric_limits<std::int64_t>::max() : coefficient;
    };
    std::ranges::stable_sort(tile, std::ranges::greater(), stride);
    return tile;
  }

  // Elements of the reduction first: what is of one of them is a row, in the order of memory, in which an invocation and
  // its neighbours read neighbours.
  static std::vector<UOpRef> by_reads(std::vector<UOpRef> tile) {
    std::ranges::stable_partition(tile, [](UOpRef range) { return kind_of(range) == RangeKind::Reduce; });
    return tile;
  }

  ir::Graph& g_;
  UOpRef kernel_;
  FreshAxes axes_;
  UOpRef reduce_ = nullptr, divided_ = nullptr;  // its range that becomes tiles
  std::vector<UOpRef> loops_, tiles_, within_;   // around workgroups; around a tile; of one tile
  std::int64_t invocations_ = 1;
  std::vector<UOpRef> copies_;
  std::unordered_map<UOpRef, UOpRef> replaced_;  // a load -> the one of its copy
  std::uint32_t next_allocation_ = 0;
};

}  // namespace

absl::StatusOr<UOpRef> share_tiles(ir::Graph& graph, UOpRef kernel, const std::vector<Opt>& opts) {
  const auto opt = std::ranges::find(opts, Opt::Kind::Shared, &Opt::kind);
  if (opt == opts.end() || contains_op(kernel, Op::Allocate)) return kernel;
  return TileSharer(graph, kernel).run(*opt);
}

}  // namespace hearth::passes
