#include "compiler/schedule/matrix_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

constexpr std::int64_t kMatrices[] = {1, 2, 4, 8}, kSubgroups[] = {1, 2, 4}, kSteps[] = {1, 2, 4};
constexpr std::int64_t kMostBehind = 9;  // elements of the reduced axes behind the divided one: a window's

struct Block {
  TileSize matrices, subgroups;
  std::size_t reduced = 0;  // in the reduction's sources, the axis that is divided
  std::int64_t steps = 0, behind = 1;
};

class BlockChooser {
 public:
  BlockChooser(const KernelFacts& facts, const TileAxes& axes, const target::Target& target)
      : f_(facts),
        axes_(axes),
        target_(target),
        product_(*matrix_product(axes.reduce)),
        info_(target.matrix_unit(product_.a->dtype.scalar, product_.b->dtype.scalar)),
        unit_(ir::shape_of(info_)) {}

  template <class Visit>
  void for_each(Visit visit) const {
    const auto consider = [&](const Block& block) {
      if (is_possible(block)) visit(block, time_of(block));
    };
    for_each_axis([&](std::size_t reduced, std::int64_t behind) {
      for (const std::int64_t steps : kSteps) {
        for (const std::int64_t rows : kMatrices) {
          for (const std::int64_t columns : kMatrices) {
            for (const std::int64_t by_rows : kSubgroups) {
              for (const std::int64_t by_columns : kSubgroups)
                consider({{columns, rows}, {by_columns, by_rows}, reduced, steps, behind});
            }
          }
        }
      }
    });
  }

  std::vector<Opt> opts_of(const Block& block) const {
    std::vector<Opt> opts;
    add(opts, axes_.rows, unit_.m, block.matrices.rows, block.subgroups.rows);
    add(opts, axes_.columns, unit_.n, block.matrices.columns, block.subgroups.columns);
    opts.push_back({Opt::Kind::Matrix, axes_.reduce->source(block.reduced)->as<ir::RangeInfo>().axis, depth_of(block)});
    return opts;
  }

 private:
  template <class Visit>
  void for_each_axis(Visit visit) const {
    std::int64_t behind = 1;
    for (std::size_t i = axes_.reduce->sources.size() - 1; i > 0 && behind <= kMostBehind; --i) {
      UOpRef range = axes_.reduce->source(i);
      const bool moves_both =
          std::ranges::all_of(axes_.accesses, [&](const Access* a) { return f_.depends_on(a->index, range); });
      if (moves_both && KernelFacts::largest_size(range) > 1) visit(i, behind);
      if (!range->source(0)->is_const()) return;
      behind *= KernelFacts::size(range);
    }
  }

  TileSize size_of(const Block& block) const {
    return {unit_.n * block.matrices.columns * block.subgroups.columns,
            unit_.m * block.matrices.rows * block.subgroups.rows};
  }
  std::int64_t depth_of(const Block& block) const { return unit_.k * block.steps; }
  std::int64_t invocations_of(const Block& block) const {
    return unit_.subgroup * block.subgroups.columns * block.subgroups.rows;
  }

  bool is_possible(const Block& block) const {
    if (invocations_of(block) > target_.max_workgroup()) return false;
    const std::int64_t sums = block.matrices.rows * block.matrices.columns * unit_.sum.elements;
    if (sums > target_.register_values() && sums > unit_.sum.elements) return false;
    const TileSize size = size_of(block);
    // No axis of one element; more than one of the unit's matrices where there is something for them.
    const auto fits = [](UOpRef axis, std::int64_t all, std::int64_t unit) {
      return KernelFacts::largest_size(axis) > 1 && (all == unit || all < 2 * assumed_length(axis));
    };
    if (!fits(axes_.columns, size.columns, unit_.n) || !fits(axes_.rows, size.rows, unit_.m)) return false;
    if (block.steps > 1 && depth_of(block) >= 2 * assumed_length(axes_.reduce->source(block.reduced))) return false;
    constexpr std::int64_t kPadding = 31;  // at most, of a row (passes/kernel/operand_copies)
    return (size.columns + size.rows) * (depth_of(block) * block.behind + kPadding) * byte_size(product_.a->dtype) +
               bytes_of_results(size) <=
           target_.shared_bytes();
  }

  // That pass from matrices to invocations through shared memory (passes/kernel/matrix_tiles).
  std::int64_t bytes_of_results(TileSize size) const {
    if (info_.layout != ir::MatrixLayout::Cooperative) return 0;
    return size.rows * size.columns / unit_.n * ir::padded_row(unit_.n) * 4;
  }

  double time_of(const Block& block) const {
    const auto load = static_cast<double>(target_.load_cost()),
               shared = static_cast<double>(target_.shared_load_cost());
    const TileSize size = size_of(block);
    const auto depth = static_cast<double>(depth_of(block) * block.behind);
    const auto invocations = static_cast<double>(invocations_of(block));
    const auto matrices = static_cast<double>(block.matrices.rows * block.matrices.columns);
    // Time of a step of the unit: its products, and the loads of fragments, two elements at once.
    const double products = matrices * static_cast<double>(std::int64_t{unit_.m} * unit_.n * unit_.k) /
                            static_cast<double>(unit_.subgroup) / target_.matrix_speed(info_);
    const double fragments =
        static_cast<double>(block.matrices.rows * unit_.a.elements + block.matrices.columns * unit_.b.elements) / 2 *
        shared;
    const double copied = static_cast<double>(size.columns + size.rows) * depth / invocations * (load + shared);
    const double per_tile =
        depth / static_cast<double>(unit_.k) * (products + fragments) + copied + 2 * target_.barrier_cost();
    const auto length =
        static_cast<double>(std::max<std::int64_t>(1, assumed_length(axes_.reduce->source(block.reduced))));
    const double tiles = std::ceil(length / static_cast<double>(depth_of(block))) * axes_.depth / length /
                         static_cast<double>(block.behind);
    const double units = axes_.results / static_cast<double>(size.columns * size.rows) * invocations;
    const double rounds =
        std::max(1.0, units * axes_.padding(size) / static_cast<double>(target_.wanted_invocations()));
    return rounds * tiles * per_tile;
  }

  static void add(std::vector<Opt>& opts, UOpRef axis, std::int64_t unit, std::int64_t matrices,
                  std::int64_t subgroups) {
    const std::uint32_t id = axis->as<ir::RangeInfo>().axis;
    const std::int64_t size = unit * matrices * subgroups;
    if (!KernelFacts::is_multiple(axis, size)) opts.push_back({Opt::Kind::PadTo, id, size});
    opts.push_back({Opt::Kind::Tile, id, size});
    opts.push_back({Opt::Kind::Unroll, id, unit});
    if (matrices > 1) opts.push_back({Opt::Kind::Unroll, id, matrices});
    if (subgroups > 1) opts.push_back({Opt::Kind::Workgroup, id, subgroups});
  }

  const KernelFacts& f_;
  const TileAxes& axes_;
  const target::Target& target_;
  const Product product_;
  const ir::WmmaInfo info_;
  const ir::MatrixShape unit_;
};

// Two operands, one of which moves along the rows and one along the columns.
bool is_product(const KernelFacts& facts, const TileAxes& axes) {
  if (axes.rows == nullptr || axes.accesses.size() != 2 || !matrix_product(axes.reduce)) return false;
  const auto moves = [&](std::size_t i) {
    return std::pair(axes.moves_by_rows(facts, *axes.accesses[i]), axes.moves_by_columns(facts, *axes.accesses[i]));
  };
  const std::pair by_rows(true, false), by_columns(false, true);
  return (moves(0) == by_rows && moves(1) == by_columns) || (moves(0) == by_columns && moves(1) == by_rows);
}

bool is_for_unit(const KernelFacts& facts, const TileAxes& axes, const target::Target& target) {
  if (!is_product(facts, axes)) return false;
  const std::optional<Product> product = matrix_product(axes.reduce);
  return target.multiplies_matrices(product->a->dtype.scalar, product->b->dtype.scalar);
}

}  // namespace

TimedOpts tile_of_matrix_unit(const KernelFacts& facts, const TileAxes& axes, const target::Target& target) {
  if (!is_for_unit(facts, axes, target)) return {{}, std::numeric_limits<double>::infinity()};
  return fastest(BlockChooser(facts, axes, target));
}

std::vector<TimedOpts> tiles_of_matrix_unit(const KernelFacts& facts, const TileAxes& axes,
                                            const target::Target& target) {
  if (!is_for_unit(facts, axes, target)) return {};
  return all_timed(BlockChooser(facts, axes, target));
}

}  // namespace hearth::schedule
