// TileAxes: of a kernel with one reduction that reuses what it reads (matrix products, convolutions), the axes that a
// tile of results lies along, and what tiles of them cost.
//
//   const std::optional<TileAxes> axes = tile_axes(facts);
//   double loads = axes->reads(access, {.columns = 4, .rows = 8});
#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/opts.h"

namespace hearth::schedule {

// Opts, and the time that they are estimated to take, in multiply-adds of all that runs at a time.
struct TimedOpts {
  std::vector<Opt> opts;
  double time = 0;
};

// The fastest, and all, of the candidates that a chooser visits (`for_each`), each with its time and opts (`opts_of`).
// No opts where there is no candidate.
template <class Chooser>
TimedOpts fastest(const Chooser& chooser) {
  TimedOpts best{{}, std::numeric_limits<double>::infinity()};
  chooser.for_each([&](const auto& block, double time) {
    if (time < best.time) best = {chooser.opts_of(block), time};
  });
  return best;
}
template <class Chooser>
std::vector<TimedOpts> all_timed(const Chooser& chooser) {
  std::vector<TimedOpts> all;
  chooser.for_each([&](const auto& block, double time) { all.push_back({chooser.opts_of(block), time}); });
  return all;
}

struct TileSize {
  std::int64_t columns = 1, rows = 1;
};

struct TileAxes {
  ir::UOpRef reduce = nullptr;
  ir::UOpRef columns = nullptr;  // along which stores run
  ir::UOpRef rows = nullptr;     // no access of the reduction moves along both; null: there is none
  double results = 1, depth = 1;
  std::int64_t value_words = 1;         // of a sum, of 32 bits
  std::vector<const Access*> accesses;  // of the reduction

  bool moves_by_columns(const KernelFacts& facts, const Access& access) const {
    return facts.depends_on(access.index, columns);
  }
  bool moves_by_rows(const KernelFacts& facts, const Access& access) const {
    return rows != nullptr && facts.depends_on(access.index, rows);
  }
  // Elements that one element of the reduction has of `access` for a tile.
  std::int64_t elements(const KernelFacts& facts, const Access& access, TileSize tile) const {
    return (moves_by_columns(facts, access) ? tile.columns : 1) * (moves_by_rows(facts, access) ? tile.rows : 1);
  }
  // What is computed over what is wanted.
  double padding(TileSize tile) const;
};

// Nothing where tiles gain nothing.
std::optional<TileAxes> tile_axes(const KernelFacts& facts);

}  // namespace hearth::schedule
