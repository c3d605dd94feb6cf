#include "hearth/ops/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/ops/support.h"
#include "client/tensor/elements.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

bool is_f8(DType dtype) { return is_float(dtype) && dtype_bytes(dtype) == 1; }
bool is_byte(DType dtype) { return is_integer(dtype) && dtype_bytes(dtype) == 1; }

bool is_quantized(DType dtype) { return is_f8(dtype) || (is_integer(dtype) && dtype_bytes(dtype) <= 2); }

// A scalar, or a vector along `axis` of x, ready to broadcast against x.
Tensor along_axis(const Tensor& vector, const Tensor& x, std::int64_t axis, std::string_view argument) {
  require(vector, argument);
  if (num_elements(vector.shape()) == Dim(1) && vector.rank() <= 1) return reshape_to(vector, {});
  axis = normal_axis(axis, x.rank());
  if (vector.rank() != 1 || !(vector.dim(0) == x.dim(axis))) {
    fail_op(str_cat("argument '", argument, "' is ", describe(vector), "; expected a scalar or the shape [",
                    x.dim(axis).to_string(), "], one element a place along axis ", axis, " of 'x'"));
  }
  Shape shape(x.shape().size(), Dim(1));
  shape[static_cast<std::size_t>(axis)] = x.dim(axis);
  return reshape_to(vector, shape);
}

bool known_zero(const Tensor& x) {
  if (x.empty()) return true;
  const std::optional<std::string> bytes = x.constant_bytes();
  return bytes && std::all_of(bytes->begin(), bytes->end(), [](char byte) { return byte == 0; });
}

const Tensor& require_byte(const Tensor& x, std::string_view argument) {
  if (!is_byte(require(x, argument).dtype())) {
    fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected u8 or i8"));
  }
  return x;
}

void check_zero(const Tensor& zero, const Tensor& x, std::string_view argument) {
  if (!zero.empty() && zero.dtype() != x.dtype()) {
    fail_op(str_cat("argument '", argument, "' is ", describe(zero), "; expected the dtype ", dtype_name(x.dtype()),
                    " of what it belongs to"));
  }
}

Tensor to_i32(const Tensor& x) { return cast_to(x, DType::kI32); }

// A zero point of `x`, one operand of a product with `other`, in a shape that broadcasts against the product. It may
// not change along `inner`, the axis that is summed over.
Tensor beside_product(const Tensor& zero, const Tensor& x, const Tensor& other, std::int64_t inner,
                      std::string_view argument) {
  if (zero.empty() || num_elements(zero.shape()) == Dim(1)) return zero.empty() ? zero : reshape_to(zero, {});
  const std::int64_t outer = inner == -1 ? -2 : -1;
  Tensor spread = zero;
  if (zero.rank() == 1 && x.rank() > 1) {
    Shape shape = {1, 1};
    shape[outer == -2 ? 0 : 1] = zero.dim(0);
    spread = reshape_to(zero, shape);
  }
  bool fits = x.rank() > 1 && spread.rank() <= x.rank() && spread.dim(inner) == Dim(1);
  for (std::int64_t i = -1; fits && i >= -spread.rank(); --i) {
    fits = spread.dim(i) == Dim(1) || spread.dim(i) == x.dim(i);
  }
  if (!fits) {
    fail_op(str_cat("argument '", argument, "' is ", describe(zero), " for ", describe(x), "; expected a scalar, one ",
                    "element a ", outer == -2 ? "row" : "column", ", or a shape that broadcasts with length 1 at axis ",
                    inner));
  }
  return other.rank() > 1 ? spread : squeeze(spread, {inner});
}

}  // namespace

Tensor quantize_linear(const Tensor& x, const Tensor& scale, const Tensor& zero_point, const QuantizeConfig& config,
                       Loc loc) {
  OpScope scope("quantize_linear", loc);
  require(x, "x");
  require_float(scale, "scale");
  const DType dtype = zero_point.empty() ? config.dtype : zero_point.dtype();
  if (!is_quantized(dtype)) {
    fail_op(str_cat("the quantized dtype is ", dtype_name(dtype), "; expected u8, i8, u16, i16, f8e4m3 or f8e5m2"));
  }
  const DType real = wide(promote(x.dtype(), scale.dtype()));
  Tensor value = cast_to(x, real) / cast_to(along_axis(scale, x, config.axis, "scale"), real);
  if (!is_f8(dtype)) value = round(value);
  if (!zero_point.empty()) value = value + cast_to(along_axis(zero_point, x, config.axis, "zero_point"), real);
  if (is_f8(dtype)) return config.saturate ? saturating_cast(value, dtype) : cast_to(value, dtype);
  const int bits = static_cast<int>(dtype_bytes(dtype)) * 8;
  const double low = is_signed(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  return cast_to(clip(value, low, low + std::ldexp(1.0, bits) - 1), dtype);
}

Tensor dequantize_linear(const Tensor& x, const Tensor& scale, const Tensor& zero_point, std::int64_t axis, Loc loc) {
  OpScope scope("dequantize_linear", loc);
  if (!is_quantized(require(x, "x").dtype()) && x.dtype() != DType::kI32) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected u8, i8, u16, i16, i32, f8e4m3 or f8e5m2"));
  }
  require_float(scale, "scale");
  check_zero(zero_point, x, "zero_point");
  const DType real = wide(scale.dtype());
  const DType difference = is_f8(x.dtype()) ? real : DType::kI32;
  Tensor value = cast_to(x, difference);
  if (!zero_point.empty()) value = value - cast_to(along_axis(zero_point, x, axis, "zero_point"), difference);
  value = cast_to(value, real) * cast_to(along_axis(scale, x, axis, "scale"), real);
  return cast_to(value, scale.dtype());
}

Quantized dynamic_quantize_linear(const Tensor& x, Loc loc) {
  OpScope scope("dynamic_quantize_linear", loc);
  if (require(x, "x").dtype() != DType::kF32) fail_op(str_cat("argument 'x' is ", describe(x), "; expected f32"));
  const Tensor low = minimum(reduce_min(x), 0.0), high = maximum(reduce_max(x), 0.0);
  const Tensor share = (high - low) / 255.0;  // zero, too, where it is subnormal and results are not kept so
  const Tensor step = where(equal(share, 0.0), 1.0, share);
  const Tensor zero = cast_to(clip(round(-low / step), 0.0, 255.0), DType::kU8);
  return {quantize_linear(x, step, zero), step, zero};
}

Tensor matmul_integer(const Tensor& a, const Tensor& b, const Tensor& a_zero, const Tensor& b_zero, Loc loc) {
  OpScope scope("matmul_integer", loc);
  require_byte(a, "a");
  require_byte(b, "b");
  check_zero(a_zero, a, "a_zero");
  check_zero(b_zero, b, "b_zero");
  const Tensor rows = beside_product(a_zero, a, b, -1, "a_zero"), columns = beside_product(b_zero, b, a, -2, "b_zero");
  // The product of the plain bytes, for which machines have instructions, then what the zero points take away:
  // (a - p)(b - q) = ab - p (sum of b - k q) - q (sum of a).
  Tensor result = matmul(to_i32(a), to_i32(b));
  const bool matrices = a.rank() > 1 && b.rank() > 1;
  const bool has_rows = !known_zero(rows), has_columns = !known_zero(columns);
  if (has_rows) {
    Tensor sums = reduce_sum(b, {b.rank() == 1 ? 0 : -2}, matrices);
    if (has_columns) sums = sums - to_i32(columns) * const_length(a, -1, "since it is summed over");
    result = result - to_i32(rows) * sums;
  }
  if (has_columns) result = result - to_i32(columns) * reduce_sum(a, {-1}, matrices);
  return result;
}

Tensor conv_integer(const Tensor& x, const Tensor& w, const Tensor& x_zero, const Tensor& w_zero,
                    const ConvConfig& config, Loc loc) {
  OpScope scope("conv_integer", loc);
  require_byte(x, "x");
  require_byte(w, "w");
  check_zero(x_zero, x, "x_zero");
  check_zero(w_zero, w, "w_zero");
  if (!x_zero.empty() && (x_zero.rank() > 1 || !(num_elements(x_zero.shape()) == Dim(1)))) {
    fail_op(str_cat("argument 'x_zero' is ", describe(x_zero), "; expected a scalar"));
  }
  Tensor weights = to_i32(w);
  if (!known_zero(w_zero)) weights = weights - to_i32(along_axis(w_zero, w, 0, "w_zero"));
  if (known_zero(x_zero)) return conv(to_i32(x), weights, {}, config);
  const auto spatial = static_cast<std::size_t>(std::max<std::int64_t>(x.rank() - 2, 0));
  const auto fits = [&](const std::vector<std::int64_t>& pads) { return pads.empty() || pads.size() == spatial; };
  const std::optional<std::string> known = x_zero.constant_bytes();
  if (!known || !fits(config.pads_begin) || !fits(config.pads_end))
    return conv(to_i32(x) - to_i32(reshape_to(x_zero, {})), weights, {}, config);
  // Padding with the zero point keeps the operands plain bytes; its share is the same for every place of the result.
  const std::int64_t zero = decode_integer(*known, x.dtype());
  ConvConfig unpadded = config;
  Shape before(x.shape().size(), Dim(0)), after = before;
  for (std::size_t i = 2; i < before.size(); ++i) {
    if (i - 2 < config.pads_begin.size()) before[i] = config.pads_begin[i - 2];
    if (i - 2 < config.pads_end.size()) after[i] = config.pads_end[i - 2];
  }
  unpadded.pads_begin.clear();
  unpadded.pads_end.clear();
  const Tensor sum = conv(to_i32(pad(x, before, after, static_cast<double>(zero))), weights, {}, unpadded);
  Axes taps;
  for (std::int64_t i = 1; i < w.rank(); ++i) taps.push_back(i);
  return sum - per_channel(reduce_sum(weights, taps), x.rank(), "w", w.dim(0)) * zero;
}

}  // namespace hearth::client
