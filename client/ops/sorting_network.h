// Batcher's bitonic sorting network (Knuth, The Art of Computer Programming, volume 3, 5.3.4) on tensors: each step is
// an elementwise minimum and maximum of two halves, whatever the values are, so it runs on vectors. Inside client/
// only.
//
// What is sorted are keys with the positions they came from: no two are equal, and equal values keep their order.
#pragma once
#include "hearth/tensor.h"

namespace hearth::client {

// For the rows of x [.., n], n < 2^31: the positions (i64 [.., count]) of the first `count` elements in ascending or
// descending order. Time a row: n log^2 count steps, about n where count is small.
Tensor network_order(const Tensor& x, std::int64_t count, bool descending);

}  // namespace hearth::client
