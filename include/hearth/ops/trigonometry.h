// Inverse trigonometric and hyperbolic functions. Integers are cast to f32 first; f16, bf16 and fp8 are computed in
// f32. Relative error below 4 * 2^-24 in f32 and 4 * 2^-53 in f64, 2 to 4 ulp. NaN outside a function's domain. Errors:
// JitError.
//
//   Tensor angle = atan2(y, x);   // radians
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

Tensor asin(const Tensor& x, Loc loc = Loc::current());  // domain [-1, 1]
Tensor acos(const Tensor& x, Loc loc = Loc::current());  // domain [-1, 1]
Tensor atan(const Tensor& x, Loc loc = Loc::current());
// The angle of the point (x, y) in [-pi, pi], signed zeros and infinities as in C's atan2. Broadcasts like any binary
// op.
Tensor atan2(const Operand& y, const Operand& x);
Tensor sinh(const Tensor& x, Loc loc = Loc::current());
Tensor cosh(const Tensor& x, Loc loc = Loc::current());
Tensor asinh(const Tensor& x, Loc loc = Loc::current());
Tensor acosh(const Tensor& x, Loc loc = Loc::current());  // domain [1, infinity]
Tensor atanh(const Tensor& x, Loc loc = Loc::current());  // domain [-1, 1]; infinite at its ends

// log(1 + x) without the loss of digits near 0.
Tensor log1p(const Tensor& x, Loc loc = Loc::current());
// |magnitude| with the sign of `sign`, a zero's and a NaN's included.
Tensor copysign(const Operand& magnitude, const Operand& sign);

}  // namespace hearth::client
#pragma GCC visibility pop
