#include "compiler/schedule/contraction.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>

#include "compiler/schedule/lengths.h"
#include "compiler/schedule/tile_cost.h"
#include "compiler/target/core_model.h"

namespace hearth::schedule {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMinPiece = 4;      // of a reduced axis that is split, elements
constexpr std::size_t kMaxConditions = 6;  // places where one is split
constexpr double kMaxWrittenOut = 64;      // elements of a sum without a loop
constexpr double kMinDepthOfIdle = 32;     // elements of a sum whose vectors are mostly idle
constexpr double kMaxCopies = 896;         // multiply-adds of vectors without a loop

class Contraction {
 public:
  Contraction(const KernelFacts& facts, const std::vector<SlotFacts>& slots)
      : f_(facts), slots_(slots), reduce_(facts.reduces.front()) {
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) depth_ *= static_cast<double>(length(reduce_->source(i)));
  }

  std::optional<std::vector<Opt>> run() {
    // Results that share a reduction (a row divided by its norm) are a row kernel's.
    if (!std::ranges::all_of(f_.outputs, [&](UOpRef axis) { return f_.depends_on(reduce_, axis); }))
      return std::nullopt;
    if (f_.unit) group_ = group_axis();
    if (group_) consider_all();
    if (!best_.axis) {  // no unit, or operands that cannot be packed for it
      group_ = nullptr;
      consider_all();
    }
    if (!best_.axis) {
      may_idle_ = true;
      consider_all();
    }
    if (!best_.axis) return std::nullopt;
    if (!group_) conditions_ = find_conditions();
    return opts_of(best_);
  }

 private:
  void consider_all() {
    for (UOpRef axis : f_.outputs) enumerate_tiles(axis);
  }

  // The reduced axis whose neighbours the unit sums: one along which most accesses run, else the longest.
  UOpRef group_axis() const {
    UOpRef best = nullptr;
    std::pair<std::int64_t, std::int64_t> most;
    for (std::size_t i = 1; i < reduce_->sources.size(); ++i) {
      UOpRef r = reduce_->source(i);
      if (KernelFacts::size(r) < f_.unit->group || !is_product_along(reduce_, r)) continue;
      const std::pair<std::int64_t, std::int64_t> runs = {
          std::ranges::count_if(f_.accesses,
                                [&](const Access& a) {
                                  return a.in_reduction && a.affine.coefficient_of(r) == 1 &&
                                         f_.is_unit_or_zero_stride(a, r);
                                }),
          KernelFacts::size(r)};
      if (!best || runs > most) best = r, most = runs;
    }
    return best;
  }

  struct Choice {
    UOpRef axis = nullptr, rows_axis = nullptr;
    int columns = 1, rows = 1;
    std::vector<std::uint32_t> packed;
    double cycles = INFINITY;
    bool pads = false;  // the last vector is filled up
  };

  static std::int64_t length(UOpRef range) { return assumed_length(range); }
  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  static bool is_allocation(const Access& a) { return a.index->source(0)->is(Op::Allocate); }
  static std::uint32_t slot(const Access& a) { return a.index->source(0)->as<ir::ParamInfo>().slot; }
  static std::uint32_t axis_id(UOpRef range) { return range->as<ir::RangeInfo>().axis; }
  SlotFacts slot_facts(const Access& a) const {
    return !is_allocation(a) && slot(a) < slots_.size() ? slots_[slot(a)] : SlotFacts{};
  }
  static bool is_gated(const Access& a) { return !a.index->source(2)->is_const(); }

  // The largest packed panel that stays in L2 while it is read again for every row tile.
  double panel_bytes() const { return static_cast<double>(f_.l2_bytes) / 2; }
  // The largest operand that stays in L2 by itself.
  double resident_bytes() const { return static_cast<double>(f_.l2_bytes) / 4; }

  double results() const {
    double n = 1;
    for (UOpRef r : f_.loops) n *= static_cast<double>(length(r));
    return n;
  }

  // As passes/kernel/pack_operands sees it, with `axis` rounded up to `padded`.
  bool packable(const Access& a, UOpRef axis, std::int64_t padded) const {
    double elements = 1;
    for (const ir::AffineTerm& t : a.affine.terms) {
      if (!t.atom->is(Op::Range) || KernelFacts::size(t.atom) == 0) return false;
      elements *= static_cast<double>(t.atom == axis ? padded : KernelFacts::size(t.atom));
    }
    return slot_facts(a).constant_shape && !is_gated(a) &&
           is_small_copy(elements, static_cast<double>(a.index->source(1)->bounds.max) + 1);
  }

  // How often an element is read, for copies made at every replay.
  double reuse(const Access& a) const {
    double n = 1;
    for (UOpRef r : f_.loops) n *= f_.depends_on(a.index, r) ? 1.0 : static_cast<double>(length(r));
    return n;
  }

  // Cycles of one element of the reduction in a rows x columns tile.
  double tile_cycles(std::int64_t rows, std::int64_t columns, double row_gates, double column_gates) const {
    if (!group_) return schedule::tile_cycles(rows, columns, row_gates, column_gates);
    const auto r = static_cast<double>(rows), c = static_cast<double>(columns);
    const double load = (r + c * (1 + column_gates * kCore.masked_load_share)) / kCore.loads_per_cycle;
    const double gates = r * row_gates * kCore.gated_scalar_share,
                 masks = c * column_gates * kCore.mask_ops / kCore.fma_per_cycle;
    const double multiply = r * c * f_.unit->cycles + (r + c) * f_.unit->widen_cycles + masks;
    return (std::max({multiply, load, f_.unit->latency}) + kCore.loop_cycles + gates * f_.unit->group) / f_.unit->group;
  }

  // Vector registers beside the accumulators.
  int other_registers(int columns) const { return group_ ? (columns + 1) * f_.unit->widen_registers + 1 : columns + 2; }

  UOpRef rows_axis_for(UOpRef axis) const {
    UOpRef found = nullptr;
    for (UOpRef m : f_.outputs) {
      if (m == axis || length(m) < 2) continue;
      bool any = false, shares = true;
      for (const Access& a : f_.accesses) {
        if (!a.in_reduction) continue;
        const bool by_axis = f_.depends_on(a.index, axis), by_rows = f_.depends_on(a.index, m);
        shares &= !(by_axis && by_rows);
        any |= by_rows;
      }
      if (shares && any) found = m;  // the innermost
    }
    return found;
  }

  void enumerate_tiles(UOpRef axis) {
    const std::int64_t lanes = f_.lanes, n = length(axis);
    UOpRef rows_axis = rows_axis_for(axis);
    if (lanes < 2 || n < 2) return;
    const bool idles =
        n * 5 < lanes * 2 || (!f_.has_masks && n < lanes);  // most of a vector, or what masks would be for
    if (idles && !(may_idle_ && rows_axis && depth_ >= kMinDepthOfIdle)) return;
    for (int columns = 1; columns <= (rows_axis ? kMaxColumns : kMaxColumnsOfOneRow); ++columns) {
      const std::int64_t vectors = ceil_div(n, lanes);
      if (columns > vectors) break;
      if (columns > 1 && static_cast<double>(lanes) * 4 * columns * depth_ > panel_bytes()) break;
      const int most_rows =
          rows_axis ? static_cast<int>(std::min<std::int64_t>(
                          {kMaxRows, (f_.registers - other_registers(columns)) / columns, length(rows_axis)}))
                    : 1;
      for (int rows = 1; rows <= most_rows; ++rows) estimate_tile(axis, rows_axis, rows, columns);
    }
  }

  struct Tile {
    std::int64_t rows = 1;
    int columns = 1;
    double row_gates = 0, column_gates = 0;  // operands that are read under a condition
  };

  // Cycles of m rows for one element of the reduction, in tiles; passes/kernel/apply_opts halves the rest where m is
  // not known. A small tile of a panel beyond L1 waits for L2.
  double rows_cycles(UOpRef rows_axis, std::int64_t m, const Tile& whole) const {
    const auto [rows, columns, row_gates, column_gates] = whole;
    const auto of = [&, c = columns, r = row_gates, g = column_gates](std::int64_t tile) {
      return tile_cycles(tile, c, r, g);
    };
    if (KernelFacts::size(rows_axis) > 0)
      return static_cast<double>(m / rows) * of(rows) + (m % rows ? of(m % rows) : 0);
    const bool is_far = depth_ * static_cast<double>(f_.lanes) * 4 * columns > kCore.l1_bytes;
    const double least = is_far ? columns * kCore.l2_vector_cycles : 0;
    double cycles = static_cast<double>(m / rows) * std::max(of(rows), least);
    for (std::int64_t left = m % rows, tile = rows; left > 0; left %= tile) {
      tile = tile < 4 ? 1 : tile % 4 == 0 ? tile / 2 : 2;
      cycles += static_cast<double>(left / tile) * std::max(of(tile), least);
    }
    return cycles;
  }

  void estimate_tile(UOpRef axis, UOpRef rows_axis, int rows, int columns) {
    const std::int64_t lanes = f_.lanes, n = length(axis), panels = ceil_div(n, lanes * columns);
    const std::int64_t padded = panels * lanes * columns;
    Choice choice{axis, rows_axis, columns, rows, {}, 0, n != padded};
    bool all_packed = true;  // what moves along the axis: its copies are filled up too
    double row_gates = 0, column_gates = 0, copies = 0;
    for (const Access& a : f_.accesses) {
      if (!a.in_reduction) continue;
      if (!f_.depends_on(a.index, axis)) {
        row_gates += is_gated(a);
        // A group that is not side by side is put together element by element.
        if (group_ && a.affine.coefficient_of(group_) != 1) row_gates += f_.unit->group;
        continue;
      }
      const bool runs = f_.is_unit_or_zero_stride(a, axis) && a.affine.coefficient_of(axis) == 1;
      const bool can_pack = packable(a, axis, padded);
      const double elements = results() / static_cast<double>(n) * static_cast<double>(n) / reuse(a) * depth_;
      if (can_pack && slot_facts(a).once) {
        choice.packed.push_back(slot(a));
      } else if (runs && !group_) {
        column_gates += is_gated(a);
        all_packed = false;
        // Panels of a wide matrix are rows far apart: worth a copy when each is read many times.
        if (can_pack && panels > 1 && reuse(a) >= 48 && depth_ >= 64) {
          choice.packed.push_back(slot(a));
          copies += elements * kCore.copy_cycles;
        }
      } else if (can_pack && reuse(a) >= 16) {
        choice.packed.push_back(slot(a));
        copies += elements * kCore.gathered_copy_cycles;
      } else {
        return;
      }
    }
    const double others = results() / static_cast<double>(n) / (rows_axis ? static_cast<double>(length(rows_axis)) : 1);
    double tiles = tile_cycles(rows, columns, row_gates, column_gates);
    if (rows_axis) {
      const Tile tile = {rows, columns, row_gates, column_gates};
      const auto cycles = [&](std::int64_t m) { return rows_cycles(rows_axis, m, tile); };
      tiles = f_.size(rows_axis) > 0 ? cycles(f_.size(rows_axis)) : mean_over_lengths(rows_axis, cycles);
    }
    double tiles_across = static_cast<double>(panels);
    if (choice.pads && !f_.has_masks && !all_packed) {  // whole vectors, then one element after the other
      choice.pads = false;
      tiles_across = static_cast<double>(n / lanes) / columns + static_cast<double>(n % lanes) / columns;
    }
    choice.cycles = tiles_across * tiles * others * depth_ + copies;
    if (axis != f_.contiguous_output()) choice.cycles += results() / static_cast<double>(lanes) * kCore.scatter_cycles;
    if (choice.cycles < best_.cycles * 0.999) best_ = choice;
  }

  std::vector<Opt> opts_of(const Choice& c) const {
    std::vector<Opt> opts;
    auto add = [&](Opt::Kind kind, UOpRef range, std::int64_t amount) {
      if (amount > 1 || kind == Opt::Kind::Before) opts.push_back({kind, axis_id(range), amount});
    };
    const std::int64_t lanes = f_.lanes, n = KernelFacts::size(c.axis);
    for (const auto& [range, at] : conditions_) add(Opt::Kind::Split, range, at);
    if (n > 0 && c.pads) add(Opt::Kind::PadTo, c.axis, lanes * c.columns);
    add(f_.has_masks && n == 0 ? Opt::Kind::Masked : Opt::Kind::Lanes, c.axis, lanes);
    add(Opt::Kind::Unroll, c.axis, c.columns);
    if (c.rows_axis) order_loops(c, opts);
    if (c.rows_axis) add(Opt::Kind::Unroll, c.rows_axis, c.rows);
    if (group_) add(Opt::Kind::Dot, group_, f_.unit->group);
    if (is_written_out(c)) {
      for (std::size_t i = 1; i < reduce_->sources.size(); ++i)
        add(Opt::Kind::Unroll, reduce_->source(i), KernelFacts::size(reduce_->source(i)));
    } else if (!group_) {
      add(Opt::Kind::Unroll, reduce_->sources.back(), partial_sums(c));
    }
    for (std::uint32_t s : c.packed) {
      if (std::ranges::none_of(opts, [&](const Opt& o) { return o.kind == Opt::Kind::Pack && o.axis == s; }))
        opts.push_back({Opt::Kind::Pack, s, 1});
    }
    return opts;
  }

  // Where conditions on one reduced axis alone change, as those of a concatenation do: from the last place to the
  // first. A sum for each piece has none of them in its loop.
  std::vector<std::pair<UOpRef, std::int64_t>> find_conditions() const {
    std::vector<std::pair<UOpRef, std::int64_t>> found;
    for (UOpRef range : reduce_->sources | std::views::drop(1)) {
      PlacesOfChange places;
      for (const Access& a : f_.accesses) {
        if (a.in_reduction) places.merge(places_of_change(a.index->source(2), range));
      }
      for (const std::int64_t at : places) {
        if (at >= kMinPiece && KernelFacts::size(range) - at >= kMinPiece) found.emplace_back(range, at);
      }
    }
    if (found.size() > kMaxConditions) return {};
    std::ranges::stable_sort(found, std::greater<>(), &std::pair<UOpRef, std::int64_t>::second);
    return found;
  }

  // A short sum (the first convolution of a net, over three channels) has no loop: its conditions and addresses would
  // cost more than its multiply-adds, and neighbouring rows read many of the same elements.
  bool is_written_out(const Choice& c) const {
    const bool is_known = std::all_of(reduce_->sources.begin() + 1, reduce_->sources.end(),
                                      [](UOpRef range) { return KernelFacts::size(range) > 0; });
    return !group_ && is_known && reduce_->sources.size() > 2 && depth_ <= kMaxWrittenOut &&
           depth_ * c.rows * c.columns <= kMaxCopies && conditions_.empty();
  }

  // A tile of few accumulators waits for its multiply-adds: each becomes several sums over neighbours.
  std::int64_t partial_sums(const Choice& c) const {
    const std::int64_t size = KernelFacts::size(reduce_->sources.back());
    if (!conditions_.empty()) return 1;
    for (std::int64_t sums : {8, 4, 2}) {
      if (size > sums && size % sums == 0 && c.rows * c.columns * sums <= kCore.sums_that_hide_latency()) return sums;
    }
    return 1;
  }

  // Bytes of different elements that an access reads while `fixed` stay where they are.
  static double footprint(const Access& a, const std::vector<UOpRef>& fixed) {
    std::map<std::int64_t, double> lengths;  // by distance: windows overlap
    for (const ir::AffineTerm& t : a.affine.terms) {
      if (!t.atom->is(Op::Range) || std::ranges::find(fixed, t.atom) != fixed.end()) continue;
      lengths.try_emplace(t.coefficient, 1).first->second += static_cast<double>(length(t.atom) - 1);
    }
    double bytes = byte_size(a.index->source(0)->dtype);
    for (const auto& [distance, n] : lengths) bytes *= n;
    return bytes;
  }

  // The lines of an image: axes inside of the rows' loop that move the columns' operand alone. When that operand is
  // larger than the cache, every tile of rows (the channels) would read it from memory again; with these loops outside
  // it is read once, if one line of it and the rows' whole operand stay in the cache.
  std::vector<UOpRef> lines_outside_of_rows(const Choice& c) const {
    if (length(c.rows_axis) <= c.rows) return {};
    std::vector<UOpRef> lines;
    const auto inside = std::ranges::find(f_.outputs, c.rows_axis);
    for (auto at = inside; at != f_.outputs.end(); ++at) {
      if (*at == c.rows_axis || *at == c.axis) continue;
      const bool is_line = std::ranges::all_of(f_.accesses, [&](const Access& a) {
        return !a.in_reduction || f_.depends_on(a.index, *at) == f_.depends_on(a.index, c.axis);
      });
      if (is_line) lines.push_back(*at);
    }
    if (lines.empty() || length(lines.front()) < 2 * f_.threads) return {};
    double whole = 0, kept = 0;
    for (const Access& a : f_.accesses) {
      if (!a.in_reduction) continue;
      if (f_.depends_on(a.index, c.axis)) whole += footprint(a, {});
      kept += footprint(a, lines);
    }
    const bool fits = kept <= static_cast<double>(f_.l2_bytes) * 3 / 4;
    return whole > static_cast<double>(f_.l2_bytes) && fits ? lines : std::vector<UOpRef>{};
  }

  // The outermost of the loops that leave the columns' operand (weights) where it is, when that one, larger than what
  // stays in L2, would be read once for each of their values, and reading the rows' operand (a small image) once for
  // each panel is less; null otherwise.
  UOpRef loops_to_pass(const Choice& c, std::int64_t panels) const {
    double weights = 0, image = 0, times = 1;
    UOpRef outermost = nullptr;
    for (const Access& a : f_.accesses) {
      if (a.in_reduction) (f_.depends_on(a.index, c.axis) ? weights : image) += footprint(a, {});
    }
    for (UOpRef loop : f_.outputs) {
      if (loop == c.axis) break;
      const bool leaves_weights = std::ranges::none_of(f_.accesses, [&](const Access& a) {
        return a.in_reduction && f_.depends_on(a.index, c.axis) && f_.depends_on(a.index, loop);
      });
      if (!leaves_weights || loop == c.rows_axis) continue;
      if (outermost == nullptr) outermost = loop;
      times *= static_cast<double>(length(loop));
    }
    if (panels < 2 || weights <= resident_bytes() || image * static_cast<double>(panels) >= weights * times)
      return nullptr;
    return outermost;
  }

  // Which operand stays in the cache while the other one passes by, and what the threads divide.
  void order_loops(const Choice& c, std::vector<Opt>& opts) const {
    const std::int64_t panels = ceil_div(length(c.axis), f_.lanes * c.columns);
    const double operand_bytes = depth_ * static_cast<double>(length(c.axis)) * 4;
    const bool rows_outermost = f_.outputs.front() == c.rows_axis;
    const bool divides = !rows_outermost || !f_.is_only_store || f_.threads == 1 || panels >= 2 * f_.threads;
    const std::vector<UOpRef> lines = lines_outside_of_rows(c);
    if (UOpRef outermost = loops_to_pass(c, panels); outermost != nullptr && divides) {
      opts.push_back({Opt::Kind::Before, axis_id(c.axis), axis_id(outermost)});
    } else if (!lines.empty()) {
      for (UOpRef line : lines) opts.push_back({Opt::Kind::Before, axis_id(line), axis_id(c.rows_axis)});
    } else if (panels > 1 && operand_bytes > resident_bytes() && divides) {
      opts.push_back({Opt::Kind::Before, axis_id(c.axis), axis_id(c.rows_axis)});
    } else if (rows_outermost && f_.is_only_store && f_.threads > 1 && length(c.rows_axis) >= 2 * c.rows * f_.threads) {
      const std::int64_t share = ceil_div(length(c.rows_axis), 4 * f_.threads);
      opts.push_back({Opt::Kind::Tile, axis_id(c.rows_axis), ceil_div(share, c.rows) * c.rows});
    }
  }

  const KernelFacts& f_;
  const std::vector<SlotFacts>& slots_;
  UOpRef reduce_;
  double depth_ = 1;                                         // elements of the reduction
  std::vector<std::pair<UOpRef, std::int64_t>> conditions_;  // reduced axis, place
  UOpRef group_ = nullptr;                                   // reduced axis that a matrix unit sums in groups
  // Where no other axis serves: a few channels that are made of many (the last convolution of a net) fill a small part
  // of a vector, with many sums at a time.
  bool may_idle_ = false;
  Choice best_;
};

}  // namespace

std::optional<std::vector<Opt>> tile_contraction(const KernelFacts& facts, const std::vector<SlotFacts>& slots) {
  if (facts.reduces.size() != 1 || facts.outputs.empty() || facts.lanes < 2) return std::nullopt;
  return Contraction(facts, slots).run();
}

}  // namespace hearth::schedule
