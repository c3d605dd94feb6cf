// Matrix products and indexing. Errors: JitError.
//
//   Tensor y = linear(x, w, b);                    // x [.., k], w [n, k], b [n] -> [.., n]
//   Tensor e = gather(table, token_ids, 0);        // numpy.take(table, token_ids, axis=0)
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// numpy.matmul: batch axes broadcast, rank 1 operands are a row / a column. Accumulates in f32 or wider.
Tensor matmul(const Tensor& a, const Tensor& b, Loc loc = Loc::current());
// x w^T (+ b); an empty `b` means none.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}, Loc loc = Loc::current());

// Square matrices in the last two axes, 1 <= n <= 64 constant: [.., n, n] -> [..], floats. Unrolled elimination.
Tensor determinant(const Tensor& x, Loc loc = Loc::current());

// numpy.take along `axis`: the axis is replaced by the shape of `indices` (integers; negative count from the end,
// others are clamped into range).
Tensor gather(const Tensor& data, const Tensor& indices, std::int64_t axis = 0, Loc loc = Loc::current());
// numpy.take_along_axis: `indices` has data's rank and is no longer than data along the other axes.
Tensor gather_elements(const Tensor& data, const Tensor& indices, std::int64_t axis, Loc loc = Loc::current());
// data[i.., indices[i.., j.., :]]: the last axis of `indices` holds k coordinates into data's axes from `batch_axes`
// on; the first `batch_axes` axes are common to both. Indices wrap and are clamped as in gather. Constant lengths. data
// [i.., d1 .. dk, rest..], indices [i.., j.., k] -> [i.., j.., rest..]
Tensor gather_nd(const Tensor& data, const Tensor& indices, std::int64_t batch_axes = 0, Loc loc = Loc::current());
// Along `time_axis` the first lengths[b] elements in reverse, the others as they are; b is the position along
// `batch_axis`. `lengths` integers [batch].
Tensor reverse_sequence(const Tensor& x, const Tensor& lengths, std::int64_t time_axis, std::int64_t batch_axis,
                        Loc loc = Loc::current());
// `depth` new last lengths: 1 where the position equals the index (negative count from the end), else 0.
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype, std::int64_t axis = -1,
               Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
