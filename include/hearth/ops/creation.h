// Tensors by formula: ranges, diagonals, triangles, grids. Errors: JitError.
//
//   Tensor mask = tril(full({n, n}, 1, DType::kBool));   // causal
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Floats: `count` values from `start` to `stop` inclusive, equally far apart (computed in f64, rounded once). count
// >= 1.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::kF32, Loc loc = Loc::current());
// [rows, columns], 1 where column - row == diagonal.
Tensor eye(Dim rows, Dim columns, std::int64_t diagonal = 0, DType dtype = DType::kF32, Loc loc = Loc::current());
// The last two axes where column - row >= diagonal (triu) or <= diagonal (tril); 0 elsewhere.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0, Loc loc = Loc::current());
Tensor tril(const Tensor& x, std::int64_t diagonal = 0, Loc loc = Loc::current());

enum class GridIndexing {
  kMatrix,     // result i varies along axis i ("ij")
  kCartesian,  // the first two axes swapped ("xy", numpy's default)
};
// One tensor for each vector, all of one shape: the coordinates of every point of the grid.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridIndexing indexing = GridIndexing::kCartesian,
                             Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
