// contraction: a register tile for kernels with one reduction that reuse what they read: matrix products, convolutions,
// matrix-vector products.
//
// One output axis becomes `columns` vectors, another one `rows` scalars: rows*columns independent accumulators that
// read columns vectors and rows broadcast scalars an iteration (the outer-product micro-kernel of GotoBLAS and BLIS).
// Axis and tile are those of the least estimated cycles on the core of target/core_model.h.
// Operands that do not run along the vector axis, or would be read in panels from many places, are packed
// (passes/kernel/pack_operands).
#pragma once
#include <optional>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/opts.h"

namespace hearth::schedule {

// Nothing when the kernel is no contraction or no axis serves for vectors.
std::optional<std::vector<Opt>> tile_contraction(const KernelFacts& facts, const std::vector<SlotFacts>& slots);

}  // namespace hearth::schedule
