// Linear quantisation, as ONNX defines it: real = (quantized - zero_point) * scale. Scale and zero point are scalars
// or hold one element a place along one axis. Integer products are exact sums in i32 that wrap. Errors: JitError.
//
//   Tensor q = quantize_linear(x, scale, zero_point);                    // u8
//   Tensor y = dequantize_linear(matmul_integer(q, w, zero_point), scale * w_scale);
#pragma once
#include "hearth/ops/conv.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct QuantizeConfig {
  std::int64_t axis = 1;     // where scale and zero_point have more than one element
  DType dtype = DType::kU8;  // of the result when there is no zero point
  bool saturate = true;      // f8 only: what is too great becomes the greatest value, not infinity or NaN
};
// round(x / scale) + zero_point, half to even, clamped to the dtype of the zero point: u8, i8, u16, i16, or f8, which
// is rounded by the cast alone. `scale` is a float; an empty `zero_point` is 0. Computed in f32 (f64
// for f64). NaN becomes 0, in f8 NaN.
Tensor quantize_linear(const Tensor& x, const Tensor& scale, const Tensor& zero_point = {},
                       const QuantizeConfig& config = {}, Loc loc = Loc::current());
// (x - zero_point) * scale in scale's dtype; x is u8, i8, u16, i16, i32 or f8, `zero_point` (may be empty) too.
Tensor dequantize_linear(const Tensor& x, const Tensor& scale, const Tensor& zero_point = {}, std::int64_t axis = 1,
                         Loc loc = Loc::current());

struct Quantized {
  Tensor values;      // u8, shape of x
  Tensor scale;       // f32 []
  Tensor zero_point;  // u8 []
};
// The scale and zero point that fit [min(x, 0), max(x, 0)] into u8; the scale of nothing but zeros is 1.
Quantized dynamic_quantize_linear(const Tensor& x, Loc loc = Loc::current());

// matmul(a - a_zero, b - b_zero) as i32; a and b are u8 or i8. A zero point (may be empty: 0) is a scalar, [m] for a's
// rows, [n] for b's columns, or [.., m, 1] and [.., 1, n].
Tensor matmul_integer(const Tensor& a, const Tensor& b, const Tensor& a_zero = {}, const Tensor& b_zero = {},
                      Loc loc = Loc::current());
// conv(x - x_zero, w - w_zero) as i32, padding being x_zero; x and w are u8 or i8. x_zero is a scalar, w_zero a scalar
// or [C_out]; both may be empty.
Tensor conv_integer(const Tensor& x, const Tensor& w, const Tensor& x_zero = {}, const Tensor& w_zero = {},
                    const ConvConfig& config = {}, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
