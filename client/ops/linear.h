// Matrix products and indexing. Errors: JitError.
//
//   Tensor y = linear(x, w, b);                    // x [.., k], w [n, k], b [n] -> [.., n]
//   Tensor e = gather(table, token_ids, 0);        // numpy.take(table, token_ids, axis=0)
#pragma once
#include "client/tensor.h"

namespace hearth::client {

// numpy.matmul: batch axes broadcast, rank 1 operands are a row / a column. Accumulates in f32 or wider.
Tensor matmul(const Tensor& a, const Tensor& b, Loc loc = Loc::current());
// x w^T (+ b); an empty `b` means none.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}, Loc loc = Loc::current());

// numpy.take along `axis`: the axis is replaced by the shape of `indices` (integers; negative count from the end,
// others are clamped into range).
Tensor gather(const Tensor& data, const Tensor& indices, std::int64_t axis = 0, Loc loc = Loc::current());
// numpy.take_along_axis: `indices` has data's rank; other axes are equal.
Tensor gather_elements(const Tensor& data, const Tensor& indices, std::int64_t axis, Loc loc = Loc::current());
// `depth` new last lengths: 1 where the position equals the index (negative count from the end), else 0.
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype, std::int64_t axis = -1,
               Loc loc = Loc::current());

}  // namespace hearth::client
