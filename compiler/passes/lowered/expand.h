// expand: Unroll ranges become copies, Lanes ranges vector lanes, Group ranges wmmas; no such range is left.
//
//   reduce over an Unroll range   one accumulator a copy, combined after the loop (independent chains)
//   store over an Unroll range    one store a copy
//   Lanes range                   values that depend on it become vectors; loads and stores that move by one element
//                                 become vector loads and stores, others gather or scatter; a reduction over it ends
//                                 in `horizontal`
//   Group range                   the product that a reduction over it sums becomes a wmma (passes/lowered/contract); of
//                                 any other reduction, copies
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

absl::StatusOr<ir::UOpRef> expand(ir::Graph& graph, ir::UOpRef kernel);

}  // namespace hearth::passes
