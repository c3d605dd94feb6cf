#include "compiler/schedule/invocation_tile.h"

#include <algorithm>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

constexpr std::int64_t kSizes[] = {1, 2, 4, 8, 16};
constexpr double kWorthIt = 0.9;         // of the time without a tile
constexpr double kGatedLoadShare = 0.5;  // added to a load by its condition

struct Tile {
  std::int64_t columns = 1, rows = 1;
};

class TileChooser {
 public:
  TileChooser(const KernelFacts& facts, const target::Target& target) : f_(facts), target_(target) {}

  std::vector<Opt> run() {
    if (f_.reduces.size() != 1 || f_.outputs.empty()) return {};
    UOpRef reduce = f_.reduces.front();
    // Results that share a reduction (a row divided by its norm) are made together.
    if (!std::ranges::all_of(f_.outputs, [&](UOpRef axis) { return f_.depends_on(reduce, axis); })) return {};
    columns_ = f_.contiguous_output();
    if (columns_ == nullptr) columns_ = f_.outputs.back();
    rows_ = rows_axis();
    for (UOpRef loop : f_.loops) results_ *= static_cast<double>(assumed_length(loop));
    for (std::size_t i = 1; i < reduce->sources.size(); ++i)
      depth_ *= static_cast<double>(assumed_length(reduce->source(i)));
    value_words_ = std::max<std::int64_t>(1, byte_size(reduce->dtype) / 4);
    Tile best;
    double least = time_of(best) * kWorthIt;
    for (const std::int64_t columns : kSizes) {
      for (const std::int64_t rows : kSizes) {
        const Tile tile{columns, rows};
        if (!is_possible(tile)) continue;
        const double time = time_of(tile);
        if (time < least) least = time, best = tile;
      }
    }
    std::vector<Opt> opts;
    // Where that is one load, neighbours load and store neighbours.
    add(opts, target_.joins_loads() ? Opt::Kind::Spread : Opt::Kind::Unroll, columns_, best.columns);
    if (rows_ != nullptr) add(opts, Opt::Kind::Unroll, rows_, best.rows);
    return opts;
  }

 private:
  // The innermost axis along which no access of the reduction moves that moves along the columns.
  UOpRef rows_axis() const {
    UOpRef found = nullptr;
    for (UOpRef axis : f_.outputs) {
      if (axis == columns_ || assumed_length(axis) < 2) continue;
      bool moves = false, shares = true;
      for (const Access& a : f_.accesses) {
        if (!a.in_reduction) continue;
        const bool by_rows = f_.depends_on(a.index, axis);
        shares &= !(by_rows && f_.depends_on(a.index, columns_));
        moves |= by_rows;
      }
      if (shares && moves) found = axis;
    }
    return found;
  }

  bool is_possible(const Tile& tile) const {
    if (tile.columns * tile.rows * value_words_ > target_.register_values()) return false;
    if (tile.columns > 1 && tile.columns > assumed_length(columns_)) return false;
    return tile.rows == 1 || (rows_ != nullptr && tile.rows <= assumed_length(rows_));
  }

  // What is computed over what is wanted.
  static double padding(UOpRef axis, std::int64_t tile) {
    const std::int64_t n = assumed_length(axis);
    return n == 0 ? 1 : static_cast<double>((n + tile - 1) / tile * tile) / static_cast<double>(n);
  }

  // In multiply-adds of all that runs at a time.
  double time_of(const Tile& tile) const {
    double loads = 0;
    for (const Access& a : f_.accesses) {
      if (!a.in_reduction) continue;
      const bool by_columns = f_.depends_on(a.index, columns_),
                 by_rows = rows_ != nullptr && f_.depends_on(a.index, rows_);
      const bool gains_condition =
          (by_columns && tile.columns > 1 && !KernelFacts::is_multiple(columns_, tile.columns)) ||
          (by_rows && tile.rows > 1 && !KernelFacts::is_multiple(rows_, tile.rows));
      const bool is_gated = gains_condition || !a.index->source(2)->is_const();
      loads += static_cast<double>((by_columns ? tile.columns : 1) * (by_rows ? tile.rows : 1)) *
               (is_gated ? 1 + kGatedLoadShare : 1);
    }
    const auto results = static_cast<double>(tile.columns * tile.rows);
    double units = results_ / results * padding(columns_, tile.columns);
    if (rows_ != nullptr) units *= padding(rows_, tile.rows);
    const double rounds = std::max(1.0, units / static_cast<double>(target_.wanted_invocations()));
    return rounds * depth_ * (loads * static_cast<double>(target_.load_cost()) + results);
  }

  static void add(std::vector<Opt>& opts, Opt::Kind kind, UOpRef axis, std::int64_t amount) {
    if (amount < 2) return;
    const std::uint32_t id = axis->as<ir::RangeInfo>().axis;
    if (!KernelFacts::is_multiple(axis, amount)) opts.push_back({Opt::Kind::PadTo, id, amount});
    opts.push_back({kind, id, amount});
  }

  const KernelFacts& f_;
  const target::Target& target_;
  UOpRef columns_ = nullptr, rows_ = nullptr;
  double results_ = 1, depth_ = 1;
  std::int64_t value_words_ = 1;
};

}  // namespace

std::vector<Opt> tile_of_invocation(const KernelFacts& facts, const target::Target& target) {
  return TileChooser(facts, target).run();
}

}  // namespace hearth::schedule
