// Order along one axis of constant length. Equal elements keep the order of their positions, descending too. NaN is
// greater than everything. Short rows compare every pair, long ones run a sorting network: length * log^2 length steps
// a row, of a few that are wanted about length. Errors: JitError.
//
//   auto [values, indices] = topk(scores, 5);
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

Tensor sort(const Tensor& x, std::int64_t axis = -1, bool descending = false, Loc loc = Loc::current());
// The positions (i64) of the sorted elements.
Tensor argsort(const Tensor& x, std::int64_t axis = -1, bool descending = false, Loc loc = Loc::current());

struct TopK {
  Tensor values;
  Tensor indices;  // i64
};
// The `k` largest (or smallest) elements, sorted; 0 <= k <= length.
TopK topk(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool largest = true, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
