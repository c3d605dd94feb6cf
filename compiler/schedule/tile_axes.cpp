#include "compiler/schedule/tile_axes.h"

#include <algorithm>

#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

// The innermost axis along which no access of the reduction moves that moves along the columns.
UOpRef rows_beside(const KernelFacts& facts, UOpRef columns) {
  UOpRef found = nullptr;
  for (UOpRef axis : facts.outputs) {
    if (axis == columns || assumed_length(axis) < 2) continue;
    bool moves = false, shares = true;
    for (const Access& a : facts.accesses) {
      if (!a.in_reduction) continue;
      const bool by_rows = facts.depends_on(a.index, axis);
      shares &= !(by_rows && facts.depends_on(a.index, columns));
      moves |= by_rows;
    }
    if (shares && moves) found = axis;
  }
  return found;
}

double padding_of(UOpRef axis, std::int64_t tile) {
  const std::int64_t n = assumed_length(axis);
  return n == 0 ? 1 : static_cast<double>((n + tile - 1) / tile * tile) / static_cast<double>(n);
}

}  // namespace

double TileAxes::padding(TileSize tile) const {
  return padding_of(columns, tile.columns) * (rows != nullptr ? padding_of(rows, tile.rows) : 1);
}

std::optional<TileAxes> tile_axes(const KernelFacts& facts) {
  if (facts.reduces.size() != 1 || facts.outputs.empty()) return std::nullopt;
  TileAxes axes;
  axes.reduce = facts.reduces.front();
  // Results that share a reduction (a row divided by its norm) are made together.
  if (!std::ranges::all_of(facts.outputs, [&](UOpRef axis) { return facts.depends_on(axes.reduce, axis); }))
    return std::nullopt;
  axes.columns = facts.contiguous_output();
  if (axes.columns == nullptr) axes.columns = facts.outputs.back();
  axes.rows = rows_beside(facts, axes.columns);
  for (UOpRef loop : facts.loops) axes.results *= static_cast<double>(assumed_length(loop));
  for (std::size_t i = 1; i < axes.reduce->sources.size(); ++i)
    axes.depth *= static_cast<double>(assumed_length(axes.reduce->source(i)));
  axes.value_words = std::max<std::int64_t>(1, byte_size(axes.reduce->dtype) / 4);
  for (const Access& a : facts.accesses) {
    if (a.in_reduction) axes.accesses.push_back(&a);
  }
  return axes;
}

}  // namespace hearth::schedule
