#include "compiler/schedule/invocation_tile.h"

#include <algorithm>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

constexpr std::int64_t kSizes[] = {1, 2, 4, 8, 16};
constexpr double kWorthIt = 0.9;         // of the time without a tile
constexpr double kGatedLoadShare = 0.5;  // added to a load by its condition

class TileChooser {
 public:
  TileChooser(const KernelFacts& facts, const TileAxes& axes, const target::Target& target)
      : f_(facts), axes_(axes), target_(target) {}

  TimedOpts run() {
    TileSize best;
    double of_best = time_of(best), least = of_best * kWorthIt;
    for_each([&](const TileSize& tile, double time) {
      if (time < least) least = of_best = time, best = tile;
    });
    return {opts_of(best), of_best};
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::int64_t columns : kSizes) {
      for (const std::int64_t rows : kSizes) {
        const TileSize tile{columns, rows};
        if (is_possible(tile)) visit(tile, time_of(tile));
      }
    }
  }

  std::vector<Opt> opts_of(const TileSize& tile) const {
    std::vector<Opt> opts;
    // Where that is one load, neighbours load and store neighbours.
    add(opts, target_.joins_loads() ? Opt::Kind::Spread : Opt::Kind::Unroll, axes_.columns, tile.columns);
    if (axes_.rows != nullptr) add(opts, Opt::Kind::Unroll, axes_.rows, tile.rows);
    return opts;
  }

 private:
  bool is_possible(const TileSize& tile) const {
    if (tile.columns * tile.rows * axes_.value_words > target_.register_values()) return false;
    if (tile.columns > 1 && tile.columns > assumed_length(axes_.columns)) return false;
    return tile.rows == 1 || (axes_.rows != nullptr && tile.rows <= assumed_length(axes_.rows));
  }

  double time_of(const TileSize& tile) const {
    double loads = 0;
    for (const Access* a : axes_.accesses) {
      const bool gains_condition =
          (axes_.moves_by_columns(f_, *a) && tile.columns > 1 &&
           !KernelFacts::is_multiple(axes_.columns, tile.columns)) ||
          (axes_.moves_by_rows(f_, *a) && tile.rows > 1 && !KernelFacts::is_multiple(axes_.rows, tile.rows));
      const bool is_gated = gains_condition || !a->index->source(2)->is_const();
      loads += static_cast<double>(axes_.elements(f_, *a, tile)) * (is_gated ? 1 + kGatedLoadShare : 1);
    }
    const auto results = static_cast<double>(tile.columns * tile.rows);
    const double units = axes_.results / results * axes_.padding(tile);
    const double rounds = std::max(1.0, units / static_cast<double>(target_.wanted_invocations()));
    return rounds * axes_.depth * (loads * static_cast<double>(target_.load_cost()) + results);
  }

  static void add(std::vector<Opt>& opts, Opt::Kind kind, UOpRef axis, std::int64_t amount) {
    if (amount < 2) return;
    const std::uint32_t id = axis->as<ir::RangeInfo>().axis;
    if (!KernelFacts::is_multiple(axis, amount)) opts.push_back({Opt::Kind::PadTo, id, amount});
    opts.push_back({kind, id, amount});
  }

  const KernelFacts& f_;
  const TileAxes& axes_;
  const target::Target& target_;
};

}  // namespace

TimedOpts tile_of_invocation(const KernelFacts& facts, const TileAxes& axes, const target::Target& target) {
  return TileChooser(facts, axes, target).run();
}

std::vector<TimedOpts> tiles_of_invocation(const KernelFacts& facts, const TileAxes& axes,
                                           const target::Target& target) {
  return all_timed(TileChooser(facts, axes, target));
}

}  // namespace hearth::schedule
