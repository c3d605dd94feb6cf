// Elementwise ops with numpy broadcasting and the promotion of hearth/tensor.h. Errors: JitError.
//
//   Tensor y = where(greater(x, 0), x, 0.1 * x);
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Unary. Float functions cast integers to f32 first; neg, abs, sign and square keep integers.
Tensor neg(const Tensor& x, Loc loc = Loc::current());
Tensor recip(const Tensor& x, Loc loc = Loc::current());
Tensor sqrt(const Tensor& x, Loc loc = Loc::current());
Tensor rsqrt(const Tensor& x, Loc loc = Loc::current());
Tensor exp(const Tensor& x, Loc loc = Loc::current());
Tensor exp2(const Tensor& x, Loc loc = Loc::current());
Tensor log(const Tensor& x, Loc loc = Loc::current());
Tensor log2(const Tensor& x, Loc loc = Loc::current());
Tensor sin(const Tensor& x, Loc loc = Loc::current());
Tensor cos(const Tensor& x, Loc loc = Loc::current());
Tensor tan(const Tensor& x, Loc loc = Loc::current());
Tensor tanh(const Tensor& x, Loc loc = Loc::current());
Tensor erf(const Tensor& x, Loc loc = Loc::current());
Tensor sigmoid(const Tensor& x, Loc loc = Loc::current());
Tensor abs(const Tensor& x, Loc loc = Loc::current());
Tensor floor(const Tensor& x, Loc loc = Loc::current());  // integers unchanged, like ceil, round, trunc
Tensor ceil(const Tensor& x, Loc loc = Loc::current());
Tensor round(const Tensor& x, Loc loc = Loc::current());  // half to even
Tensor trunc(const Tensor& x, Loc loc = Loc::current());
Tensor sign(const Tensor& x, Loc loc = Loc::current());
Tensor square(const Tensor& x, Loc loc = Loc::current());
Tensor logical_not(const Tensor& x, Loc loc = Loc::current());  // bool
Tensor bitwise_not(const Tensor& x, Loc loc = Loc::current());  // integers
Tensor is_nan(const Tensor& x, Loc loc = Loc::current());
Tensor is_inf(const Tensor& x, Loc loc = Loc::current());

// Binary. (add, subtract, multiply and true division are the operators of tensor.h.)
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
Tensor pow(const Operand& a, const Operand& b);        // integers are cast to f32
Tensor trunc_div(const Operand& a, const Operand& b);  // integers, like the three below
Tensor trunc_mod(const Operand& a, const Operand& b);  // floats too: a - trunc(a/b)*b
Tensor floor_div(const Operand& a, const Operand& b);  // floats too: floor(a/b)
Tensor floor_mod(const Operand& a, const Operand& b);  // floats too: a - floor(a/b)*b
Tensor less(const Operand& a, const Operand& b);       // comparisons give bool
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor bit_and(const Operand& a, const Operand& b);  // logical for bool, bitwise for integers
Tensor bit_or(const Operand& a, const Operand& b);
Tensor bit_xor(const Operand& a, const Operand& b);
Tensor shift_left(const Operand& a, const Operand& b);
Tensor shift_right(const Operand& a, const Operand& b);  // arithmetic for signed types

Tensor where(const Tensor& condition, const Operand& then, const Operand& otherwise);
// start + (end - start) * weight
Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight);
Tensor clip(const Tensor& x, const Operand& low, const Operand& high);

// Conversions. Float to integer truncates towards zero; to bool is x != 0. What is too great for a float dtype becomes
// infinity, in f8e4m3 NaN.
Tensor cast(const Tensor& x, DType dtype, Loc loc = Loc::current());
// Into f8e4m3 or f8e5m2: what is too great, infinity included, becomes the greatest value; NaN stays.
Tensor saturating_cast(const Tensor& x, DType dtype, Loc loc = Loc::current());
Tensor bitcast(const Tensor& x, DType dtype, Loc loc = Loc::current());  // equal width

// Asks for the value to be stored at this point.
Tensor contiguous(const Tensor& x, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
