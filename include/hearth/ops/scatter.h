// Writing by index: the inverse of gathering. Data and updates have one dtype. A negative index counts from the end;
// an update whose index is outside the data is dropped. Where several updates meet, kNone keeps the last one (in
// row-major order of the indices), the others combine the data with one after the other, each result
// rounded to the dtype. Time: elements of data and updates. Errors: JitError.
//
//   Tensor counts = scatter_elements(zeros, labels, ones, 0, ScatterReduction::kAdd);
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

enum class ScatterReduction {  // as SCATTER of proto/hearth/v1/graph.proto counts them
  kNone,
  kAdd,
  kMultiply,
  kMinimum,
  kMaximum
};

// Numpy's put_along_axis: result[.., indices[.., j, ..], ..] = updates[.., j, ..]. `indices` and `updates` have one
// shape, data's rank, and are no longer than data except along `axis`. Constant lengths.
Tensor scatter_elements(const Tensor& data, const Tensor& indices, const Tensor& updates, std::int64_t axis,
                        ScatterReduction reduction = ScatterReduction::kNone, Loc loc = Loc::current());

// result[indices[i.., :]] = updates[i..]: `indices` [i.., k] names places of data's first k axes, 1 <= k <= rank;
// updates [i.., data's other axes]. Constant lengths.
Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Tensor& updates,
                  ScatterReduction reduction = ScatterReduction::kNone, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
