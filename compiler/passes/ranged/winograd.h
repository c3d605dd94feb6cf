// winograd: 3x3 convolutions with fewer multiplications.
//
// A stage that sums channels c and a 3x3 window, at distance 1, of an image times weights that are the same at every
// replay becomes
//
//   filter[xy, c, k]  once: the transformed weights, xy one of the 36 products of a tile
//   input[xy, t, c]   the transformed 6x6 neighbourhoods of tiles t of 4x4 results
//   product[xy, t, k] = sum over c of input * filter: 36 products of matrices
//   the stage         its sum replaced by the transformed products of the tile that a result is in
//
// which is 36 instead of 144 multiplications a tile and channel, for the price of two passes over memory. It is done
// where the estimated cycles say so, where channels are innermost in what is read and made and of known lengths. A
// stage in which the sum meets other operands (bias, residual, activation) keeps them.
//
// Source: passes/ranged/winograd_transform.h.
#pragma once
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// sink(stage...) -> the same values up to rounding.
absl::StatusOr<ir::UOpRef> winograd(ir::Graph& graph, ir::UOpRef sink, const target::Target& target);

}  // namespace hearth::passes
