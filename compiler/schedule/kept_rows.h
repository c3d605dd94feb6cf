// kept_rows: kernels of a GPU whose workgroups keep rows of several stores in shared memory (attention: a block of queries'
// scores, their exponentials, then the products with the values). Each store divides the same invocations its own way.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/schedule/opts.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

struct KeptRows {
  std::int64_t rows = 0;         // of a workgroup, a power of two; 0: it cannot keep any
  std::int64_t invocations = 0;  // of a workgroup, a power of two
};

struct RowsToKeep {
  std::int64_t rows = 1;      // of which a workgroup may have several
  std::int64_t all_rows = 1;  // with those that other loops have: no workgroup has more where too few would be left
  std::int64_t elements = 1;  // of a row, of 32 bits each
  std::int64_t copies = 1;    // of a row
};
KeptRows kept_rows(const RowsToKeep& of, const target::Target& target);

// Values from one kept row to the next, so that invocations of several rows side by side meet different banks.
std::int64_t pitch_of_kept_rows(std::int64_t elements, std::int64_t rows);

// For a flat kernel of several stores, the rows of whose allocations passes/kernel/block_rows has blocked. None where a
// store is of another kind.
std::vector<Opt> opts_of_kept_rows(ir::UOpRef kernel, const target::Target& target);

}  // namespace hearth::schedule
