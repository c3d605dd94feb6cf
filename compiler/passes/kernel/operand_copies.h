// OperandCopies: copies in shared memory of what a reduction reads for one tile of it, made by the invocations of a
// workgroup together. Used by shared_tiles and matrix_tiles.
//
//   OperandCopies copies(axes, {.loops = loops, .tiles = tiles, .within = within, .invocations = 64});
//   const auto ranges = copies.ranges_of(load);             // nothing: it cannot have a copy
//   const OperandCopy copy = copies.add(load, *ranges, OperandCopies::Order::DepthFirst);
//   UOpRef read = copy.load(graph, {{range, position}, ...});
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/passes/kernel/axis_pieces.h"

namespace hearth::passes {

using Coordinates = std::unordered_map<ir::UOpRef, ir::UOpRef>;  // by range of the tile: where in it

// The copy of one operand. Rows begin at multiples of 16 bytes.
struct OperandCopy {
  ir::UOpRef memory = nullptr;
  ir::DType dtype;
  std::vector<ir::UOpRef> ranges;     // outermost first
  std::vector<std::int64_t> strides;  // of each, in elements

  std::int64_t stride(ir::UOpRef range) const;
  ir::UOpRef position(ir::Graph& graph, const Coordinates& at) const;
  ir::UOpRef load(ir::Graph& graph, const Coordinates& at, std::uint16_t neighbours = 1) const;
};

class OperandCopies {
 public:
  struct Tile {
    std::vector<ir::UOpRef> loops;   // around workgroups
    std::vector<ir::UOpRef> tiles;   // of the reduction, around a tile
    std::vector<ir::UOpRef> within;  // of one tile: reduced axes, and the workgroup's own
    std::int64_t invocations = 1;
  };
  // What a row of a copy is: all of one element of the reduction, or all elements of it.
  enum class Order { DepthFirst, DepthLast };

  OperandCopies(FreshAxes& axes, Tile tile) : g_(axes.graph()), axes_(axes), tile_(std::move(tile)) {}

  // The ranges within the tile that move `load`; nothing where other ranges of their kind move it too, or it has an
  // alternative.
  std::optional<std::vector<ir::UOpRef>> ranges_of(ir::UOpRef load) const;
  // `last`, of one of the ranges: the one along which a row's neighbours lie; null: as in memory.
  OperandCopy add(ir::UOpRef load, const std::vector<ir::UOpRef>& ranges, Order order, ir::UOpRef last = nullptr);
  // Memory for results of the workgroup, which nothing fills; rows, along the last range, are `pitch` elements apart.
  OperandCopy room_for(ir::DType dtype, const std::vector<ir::UOpRef>& ranges, std::int64_t pitch);
  // That make the copies, in front of what reads them.
  const std::vector<ir::UOpRef>& stores() const { return stores_; }

 private:
  ir::UOpRef allocate(ir::DType dtype, const std::vector<ir::UOpRef>& around, std::int64_t elements);
  void fill(const OperandCopy& copy, ir::UOpRef load, const std::vector<ir::UOpRef>& in_memory);

  ir::Graph& g_;
  FreshAxes& axes_;
  const Tile tile_;
  std::vector<ir::UOpRef> stores_;
  std::uint32_t next_allocation_ = 0;
};

// The product of their lengths, which are constant.
std::int64_t elements_of(const std::vector<ir::UOpRef>& ranges);

}  // namespace hearth::passes
