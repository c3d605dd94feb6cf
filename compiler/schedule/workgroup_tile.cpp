#include "compiler/schedule/workgroup_tile.h"

#include <algorithm>
#include <limits>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

constexpr std::int64_t kTiles[] = {1, 2, 4, 8}, kAcross[] = {1, 2, 4, 8, 16, 32}, kDepths[] = {1, 2, 4, 8, 16, 32};
constexpr std::int64_t kMostDepth = 32;  // of a tile, in all reduced axes
constexpr std::int64_t kWide = 4;        // elements of f32 that are loaded at once
constexpr std::int64_t kPadding = 7;     // at most, elements of a row of a copy (passes/kernel/shared_tiles)

struct Block {
  TileSize tile, across;    // of an invocation; invocations
  std::size_t reduced = 0;  // in the reduction's sources, the axis that is divided
  std::int64_t length = 0;  // of its tiles
  TileSize size() const { return {tile.columns * across.columns, tile.rows * across.rows}; }
  std::int64_t invocations() const { return across.columns * across.rows; }
};

class BlockChooser {
 public:
  BlockChooser(const KernelFacts& facts, const TileAxes& axes, const target::Target& target)
      : f_(facts), axes_(axes), target_(target) {}

  template <class Visit>
  void for_each(Visit visit) const {
    for_each_depth([&](std::size_t reduced, std::int64_t length) {
      for (const TileSize tile : sizes(kTiles)) {
        if (tile.columns * tile.rows * axes_.value_words > target_.register_values()) continue;
        for (const TileSize across : sizes(kAcross)) {
          const Block block{tile, across, reduced, length};
          if (is_possible(block)) visit(block, time_of(block));
        }
      }
    });
  }

  std::vector<Opt> opts_of(const Block& block) const {
    std::vector<Opt> opts;
    add(opts, axes_.rows, block.across.rows, {1, block.tile.rows});
    // Neighbours load and store neighbours, 16 bytes each where they have as many.
    const std::int64_t columns = block.tile.columns;
    add(opts, axes_.columns, block.across.columns,
        columns >= kWide ? Copies{columns / kWide, kWide} : Copies{columns, 1});
    opts.push_back({Opt::Kind::Shared, axes_.reduce->source(block.reduced)->as<ir::RangeInfo>().axis, block.length});
    return opts;
  }

 private:
  static std::vector<TileSize> sizes(std::span<const std::int64_t> of) {
    std::vector<TileSize> all;
    for (const std::int64_t columns : of) {
      for (const std::int64_t rows : of) all.push_back({columns, rows});
    }
    return all;
  }

  // Tiles of a reduced axis with all those behind it, whose lengths are constant.
  template <class Visit>
  void for_each_depth(Visit visit) const {
    std::int64_t behind = 1;
    for (std::size_t i = axes_.reduce->sources.size() - 1; i > 0; --i) {
      UOpRef range = axes_.reduce->source(i);
      for (const std::int64_t length : kDepths) {
        if (length * behind <= kMostDepth && length < 2 * assumed_length(range)) visit(i, length);
      }
      if (!range->source(0)->is_const() || behind * KernelFacts::size(range) > kMostDepth) return;
      behind *= KernelFacts::size(range);
    }
  }

  bool is_possible(const Block& block) const {
    const std::int64_t invocations = block.invocations();
    if (invocations < std::max<std::int64_t>(2, target_.subgroup_size()) || invocations > target_.max_workgroup())
      return false;
    if (!fits(axes_.columns, block.size().columns) || !fits(axes_.rows, block.size().rows)) return false;
    std::int64_t bytes = 0;
    bool is_used = false;
    for (const Access* a : axes_.accesses) {
      if (!is_copied(*a, block)) continue;
      is_used = true;
      bytes += (elements_of(*a, block) + depth_of(block) * kPadding) * byte_size(a->index->source(0)->dtype);
    }
    return is_used && bytes <= target_.shared_bytes();
  }

  static bool fits(UOpRef axis, std::int64_t size) {
    if (size == 1) return true;
    return axis != nullptr && KernelFacts::largest_size(axis) > 1 && size < 2 * assumed_length(axis);
  }

  std::int64_t depth_of(const Block& block) const {
    std::int64_t depth = block.length;
    for (std::size_t i = block.reduced + 1; i < axes_.reduce->sources.size(); ++i)
      depth *= KernelFacts::size(axes_.reduce->source(i));
    return depth;
  }

  // Elements of the copy that holds what `access` reads for a block.
  std::int64_t elements_of(const Access& access, const Block& block) const {
    std::int64_t elements = axes_.elements(f_, access, block.size());
    for (std::size_t i = block.reduced; i < axes_.reduce->sources.size(); ++i) {
      UOpRef range = axes_.reduce->source(i);
      if (f_.depends_on(access.index, range)) elements *= i == block.reduced ? block.length : KernelFacts::size(range);
    }
    return elements;
  }

  // As passes/kernel/shared_tiles has it.
  bool is_copied(const Access& access, const Block& block) const {
    const TileSize size = block.size();
    return !access.is_store && size.columns * size.rows * depth_of(block) >= 2 * elements_of(access, block);
  }

  double time_of(const Block& block) const {
    const auto load = static_cast<double>(target_.load_cost()),
               shared = static_cast<double>(target_.shared_load_cost());
    const auto depth = static_cast<double>(depth_of(block)), invocations = static_cast<double>(block.invocations());
    double per_element = static_cast<double>(block.tile.columns * block.tile.rows),
           per_tile = 2 * target_.barrier_cost();
    for (const Access* a : axes_.accesses) {
      const auto loads = static_cast<double>(axes_.elements(f_, *a, block.tile));
      if (is_copied(*a, block)) {
        per_element += loads * shared;
        per_tile += static_cast<double>(elements_of(*a, block)) / invocations * (load + shared);
      } else {
        per_element += loads * load;
      }
    }
    const double units = axes_.results / static_cast<double>(block.tile.columns * block.tile.rows);
    const double rounds =
        std::max(1.0, units * axes_.padding(block.size()) / static_cast<double>(target_.wanted_invocations()));
    const auto length =
        static_cast<double>(std::max<std::int64_t>(1, assumed_length(axes_.reduce->source(block.reduced))));
    const double tiles = std::ceil(length / static_cast<double>(block.length)) * axes_.depth / length /
                         (depth / static_cast<double>(block.length));
    return rounds * tiles * (depth * per_element + per_tile);
  }

  // An invocation's results along an axis: groups that are as far apart as the workgroup is long, and neighbours in
  // each.
  struct Copies {
    std::int64_t apart, beside;
  };

  static void add(std::vector<Opt>& opts, UOpRef axis, std::int64_t across, Copies copies) {
    const std::int64_t size = across * copies.apart * copies.beside;
    if (size == 1) return;
    const std::uint32_t id = axis->as<ir::RangeInfo>().axis;
    if (!KernelFacts::is_multiple(axis, size)) opts.push_back({Opt::Kind::PadTo, id, size});
    opts.push_back({Opt::Kind::Tile, id, size});
    if (copies.beside > 1) opts.push_back({Opt::Kind::Unroll, id, copies.beside});
    if (copies.apart > 1) opts.push_back({Opt::Kind::Spread, id, copies.apart});
    if (across > 1) opts.push_back({Opt::Kind::Workgroup, id, across});
  }

  const KernelFacts& f_;
  const TileAxes& axes_;
  const target::Target& target_;
};

}  // namespace

TimedOpts tile_of_workgroup(const KernelFacts& facts, const TileAxes& axes, const target::Target& target) {
  return fastest(BlockChooser(facts, axes, target));
}

std::vector<TimedOpts> tiles_of_workgroup(const KernelFacts& facts, const TileAxes& axes,
                                          const target::Target& target) {
  return all_timed(BlockChooser(facts, axes, target));
}

}  // namespace hearth::schedule
