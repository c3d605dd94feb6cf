// Kernels that keep rows (passes/kernel/materialize_row_values, compute_at): loops that write an allocation, and the
// loops after them that write the finished row. What the caches should know of such a row is known when the row is
// begun.
#pragma once
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/uop.h"

namespace hearth::codegen {

inline constexpr std::int64_t kMinRow = 512;  // elements: shorter rows are fetched by the hardware in time

struct KeptRows {
  std::unordered_set<ir::UOpRef> loops;        // whose bodies store to an allocation
  std::unordered_set<ir::UOpRef> params_read;  // in such loops
  // A store of a row of at least kMinRow, by a later loop that runs `iterations` times as often as the key, which is
  // the first keeping loop of that row.
  struct Write {
    ir::UOpRef store, loop;
    std::int64_t iterations;
  };
  std::unordered_map<ir::UOpRef, std::vector<Write>> written;

  // `body`: of a linear kernel.
  explicit KeptRows(std::span<const ir::UOpRef> body);
};

}  // namespace hearth::codegen
