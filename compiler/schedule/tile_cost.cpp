#include "compiler/schedule/tile_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/target/core_model.h"

namespace hearth::schedule {

using target::kCore;

double tile_cycles(std::int64_t rows, std::int64_t columns, double row_gates, double column_gates) {
  const auto r = static_cast<double>(rows), c = static_cast<double>(columns);
  const double load = (r + c * (1 + column_gates * kCore.masked_load_share)) / kCore.loads_per_cycle;
  const double gates = r * row_gates * kCore.gated_scalar_share,
               masks = c * column_gates * kCore.mask_ops / kCore.fma_per_cycle;
  // Each accumulator once an iteration: the next one waits for it.
  return std::max({r * c / kCore.fma_per_cycle + masks, load, kCore.fma_latency}) + kCore.loop_cycles + gates;
}

double plane_cycles(const target::Target& target, std::int64_t n, std::int64_t m, double row_gates) {
  const std::int64_t lanes = std::max<std::int64_t>(1, target.lanes(4));
  const std::int64_t registers = target.vector_registers();
  double best = INFINITY;
  for (std::int64_t columns = 1; columns <= (m > 1 ? kMaxColumns : kMaxColumnsOfOneRow); ++columns) {
    const std::int64_t panels = (n + lanes * columns - 1) / (lanes * columns);
    const std::int64_t most_rows = std::min<std::int64_t>({kMaxRows, (registers - columns - 2) / columns, m});
    for (std::int64_t rows = 1; rows <= most_rows; ++rows) {
      double cycles = static_cast<double>(m / rows) * tile_cycles(rows, columns, row_gates, 0);
      if (m % rows != 0) cycles += tile_cycles(m % rows, columns, row_gates, 0);
      best = std::min(best, static_cast<double>(panels) * cycles);
    }
    if (panels == 1) break;
  }
  return best;
}

}  // namespace hearth::schedule
