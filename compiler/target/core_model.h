// CoreModel: what one core of a CPU does in a cycle, what its caches and memory cost and what is worth waking another
// for. Every estimate of cycles (schedule/, passes/ranged, passes/kernel) reads these and no number of its own; what a
// kernel is compiled for otherwise, its registers, lanes and matrix units, is in target/target.h.
// Sources: "tables" are Agner Fog's instruction tables and uops.info for x86-64-v3 and -v4 cores of 2015 and later,
// "measured" is a kernel's time on the processors named in docs/internal/performance.md. Immutable; thread-safe.
//
//   const double cycles = columns * rows / kCore.fma_per_cycle;
#pragma once
#include <cstdint>

namespace hearth::target {

struct CoreModel {
  // Arithmetic, of whole vectors (tables).
  double fma_per_cycle = 2;
  double fma_latency = 4;  // cycles
  // Independent sums that keep both units at work.
  constexpr int sums_that_hide_latency() const { return static_cast<int>(fma_per_cycle * fma_latency); }

  // Loads and stores, of vectors.
  double loads_per_cycle = 2;       // from the first-level cache (tables)
  double vector_move_cycles = 0.5;  // of one that is loaded or stored in its order (tables)
  double l2_vector_cycles = 2;      // of one that comes from the second-level cache (measured)
  double scatter_cycles = 24;       // of one stored to as many places as it has lanes (measured)
  double masked_load_share = 0.5;   // added to a load by its mask (measured)
  double mask_ops = 2;              // that make one, where multiply-adds are done, too
  double gated_scalar_share = 0.1;  // an address that is chosen beside the arithmetic (measured)

  // Cycles for each element that is copied (measured).
  double copy_cycles = 0.25;        // in its order
  double gathered_copy_cycles = 2;  // from and to places of its own
  double square_copy_cycles = 1;    // in squares of vectors, which are transposed in registers
  double gather_ops = 4;            // in units of op_cost, of an element that is gathered

  // Loops and transforms, in cycles (measured).
  double loop_cycles = 0.7;             // of an iteration's own
  double winograd_input_cycles = 150;   // of one tile and vector of channels: arithmetic, loads and stores
  double winograd_output_cycles = 110;  //

  // Caches and memory.
  std::int64_t line_bytes = 64;       // no two threads write one
  std::int64_t page_bytes = 4096;     // beyond which hardware does not prefetch
  double l1_bytes = 32 << 10;         // of what stays in the first-level cache
  std::int64_t l2_bytes = 1 << 20;    // where a record says nothing
  double memory_bytes_per_cycle = 8;  // each way, of what does not stay in the second-level cache (measured)
  double far_in_l2s = 16;             // what is larger than as many second-level caches lives beyond all caches
  std::int64_t alias_bytes = 2048;    // places whose distance is a multiple of it take each other's line
  double alias_cycles = 200;          // of a vector stored to such places (measured)

  // Other threads (measured). Work is operations or elements, as Kernel::work counts it.
  double fork_work = 40'000;            // that is worth waking a thread for, where a record says nothing
  double work_worth_dividing = 60'000;  // of a kernel: a parked thread wakes in tens of microseconds
  double work_of_a_unit = 4'000;        // of a unit that two divisions find the place of
  // The work of a launch that takes tens of microseconds: a fork of its own is a few percent of it, and within a region
  // its operands would be read again for each share of the units.
  double work_of_a_region = 2'000'000;
  std::int64_t elements_worth_parts = 1 << 18;  // a MiB of f32: a sum that is faster in parts by more than a fork costs
  std::int64_t parts_per_thread = 8;            // so that a slower core gets fewer
  double products_worth_a_launch = 1 << 16;     // below, a kernel's launch costs more than what a tile saves
  double branch_work = 1 << 16;  // operations; below, skipping a branch saves less than launches of its own cost
};

inline constexpr CoreModel kCore;

}  // namespace hearth::target
