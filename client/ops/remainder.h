// Exact remainders of floats. Inside client/ only; fails like client/ops/support.h.
//
//   Tensor rest = float_remainder(x, y);      // C's fmod: the sign of x, less than y in magnitude
#pragma once
#include "hearth/tensor.h"

namespace hearth::client {

// x and y of one float dtype and shape. fmod(x, 0), of an infinite x and of NaN is NaN; fmod(x, infinity) is x.
Tensor float_remainder(const Tensor& x, const Tensor& y);

}  // namespace hearth::client
