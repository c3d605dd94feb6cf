// pack_operands: an operand that many iterations read again is copied once into the order in which the loops read it,
// so that a vector register tile streams through memory one element after another (the packing of GotoBLAS, Goto and
// van de Geijn 2008, for any affine access).
//
// Every distinct access of the slot gets a region of the copy: its ranges in the order loops, reduced axes, unrolled
// axes, rows, depth, lanes, groups. What an access's gate switches off is zero in the copy, so reads of the copy need
// no gate. Where that is too large, only accesses that move with lanes get one. A slot is left as it is when an access
// is not affine over constant sizes, when the copy would be much larger than what is read, or when it is in order
// already.
#pragma once
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

struct PackedOperand {
  std::uint32_t source_slot = 0;    // what is copied
  std::uint32_t slot = 0;           // the copy, in the changed kernel
  std::int64_t elements = 0;        // of the copy
  std::vector<ir::UOpRef> kernels;  // sink(store(...)) from param 1 (the source) to param 0 (the copy), one a region
};

struct PackResult {
  ir::UOpRef kernel = nullptr;
  std::vector<PackedOperand> packed;
};

// `first_slot`: the first unused param slot; `slots`: what to pack.
absl::StatusOr<PackResult> pack_operands(ir::Graph& graph, ir::UOpRef kernel, const std::vector<std::uint32_t>& slots,
                                         std::uint32_t first_slot);

}  // namespace hearth::passes
