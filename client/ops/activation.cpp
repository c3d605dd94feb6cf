#include "hearth/ops/activation.h"

#include <cmath>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"
#include "hearth/ops/trigonometry.h"

namespace hearth::client {

namespace {

// e^x - 1 for x <= 0 to the last places: near 0 Taylor's series, where the difference would lose its digits.
Tensor exp_minus_one(const Tensor& x) {
  const bool is_f64 = x.dtype() == DType::kF64;
  const int terms = is_f64 ? 16 : 9;
  Tensor series = filled(x.shape(), 1.0, x.dtype());
  for (int n = terms; n > 1; --n) series = series * x * (1.0 / n) + 1.0;
  return where(greater(x, -0.5), series * x, exp(x) - 1.0);
}

}  // namespace

Tensor relu(const Tensor& x, Loc loc) {
  OpScope scope("relu", loc);
  return maximum(x, 0);
}

Tensor leaky_relu(const Tensor& x, double slope, Loc loc) {
  OpScope scope("leaky_relu", loc);
  return in_full_width(x, [&](const Tensor& value) { return where(less(value, 0), value * slope, value); });
}

Tensor elu(const Tensor& x, double alpha, Loc loc) {
  OpScope scope("elu", loc);
  return in_full_width(x,
                       [&](const Tensor& value) { return where(less(value, 0), exp_minus_one(value) * alpha, value); });
}

Tensor selu(const Tensor& x, Loc loc) {
  OpScope scope("selu", loc);
  return in_full_width(x, [](const Tensor& value) { return elu(value, 1.6732632423543772) * 1.0507009873554805; });
}

Tensor gelu(const Tensor& x, bool tanh_approximation, Loc loc) {
  OpScope scope("gelu", loc);
  return in_full_width(x, [&](const Tensor& value) {
    if (!tanh_approximation) return value * 0.5 * (erf(value * std::sqrt(0.5)) + 1.0);
    const double scale = std::sqrt(2.0 / 3.14159265358979323846);
    return value * 0.5 * (tanh((value + value * value * value * 0.044715) * scale) + 1.0);
  });
}

Tensor silu(const Tensor& x, Loc loc) {
  OpScope scope("silu", loc);
  return in_full_width(x, [](const Tensor& value) { return value * sigmoid(value); });
}

Tensor swiglu(const Tensor& gate, const Tensor& x, double alpha, Loc loc) {
  OpScope scope("swiglu", loc);
  if (!(require_float(gate, "gate").shape() == require_float(x, "x").shape()))
    fail_op(str_cat("'gate' is ", describe(gate), ", 'x' is ", describe(x), "; expected equal shapes"));
  const Tensor wide_gate = to_wide(gate);
  return cast_to(wide_gate * sigmoid(alpha * wide_gate) * to_wide(x), promote(gate.dtype(), x.dtype()));
}

Tensor softplus(const Tensor& x, Loc loc) {
  OpScope scope("softplus", loc);
  // Does not overflow for large x, and keeps the digits of exp(x) for small ones.
  return in_full_width(x, [](const Tensor& value) { return maximum(value, 0) + log1p(exp(-abs(value))); });
}

Tensor mish(const Tensor& x, Loc loc) {
  OpScope scope("mish", loc);
  return in_full_width(x, [](const Tensor& value) { return value * tanh(softplus(value)); });
}

Tensor softsign(const Tensor& x, Loc loc) {
  OpScope scope("softsign", loc);
  return in_full_width(x, [](const Tensor& value) { return value / (abs(value) + 1.0); });
}

Tensor hard_sigmoid(const Tensor& x, double alpha, double beta, Loc loc) {
  OpScope scope("hard_sigmoid", loc);
  return in_full_width(x, [&](const Tensor& value) { return clip(value * alpha + beta, 0.0, 1.0); });
}

Tensor hard_swish(const Tensor& x, Loc loc) {
  OpScope scope("hard_swish", loc);
  return in_full_width(x, [](const Tensor& value) { return value * hard_sigmoid(value, 1.0 / 6.0, 0.5); });
}

Tensor relu6(const Tensor& x, Loc loc) {
  OpScope scope("relu6", loc);
  return clip(require(x, "x"), 0, 6);
}

Tensor hard_tanh(const Tensor& x, double low, double high, Loc loc) {
  OpScope scope("hard_tanh", loc);
  if (!(low <= high)) fail_op(str_cat("low is ", low, ", above high, ", high));
  return clip(to_float(require(x, "x")), low, high);
}

Tensor celu(const Tensor& x, double alpha, Loc loc) {
  OpScope scope("celu", loc);
  if (!(alpha != 0)) fail_op(str_cat("alpha is ", alpha, "; expected a number other than 0"));
  return in_full_width(
      x, [&](const Tensor& value) { return maximum(value, 0) + minimum(exp_minus_one(value / alpha) * alpha, 0); });
}

Tensor prelu(const Tensor& x, const Tensor& slope, Loc loc) {
  OpScope scope("prelu", loc);
  require(x, "x");
  return where(less(x, 0), x * require(slope, "slope"), x);
}

Tensor thresholded_relu(const Tensor& x, double threshold, Loc loc) {
  OpScope scope("thresholded_relu", loc);
  return in_full_width(x, [&](const Tensor& value) { return where(greater(value, threshold), value, 0.0); });
}

Tensor log_sigmoid(const Tensor& x, Loc loc) {
  OpScope scope("log_sigmoid", loc);
  return in_full_width(x, [](const Tensor& value) { return -softplus(-value); });
}

Tensor hard_shrink(const Tensor& x, double threshold, Loc loc) {
  OpScope scope("hard_shrink", loc);
  return in_full_width(x, [&](const Tensor& value) { return where(less_equal(abs(value), threshold), 0.0, value); });
}

Tensor soft_shrink(const Tensor& x, double threshold, Loc loc) {
  OpScope scope("soft_shrink", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor inner = where(greater(value, threshold), value - threshold, 0.0);
    return where(less(value, -threshold), value + threshold, inner);
  });
}

Tensor tanh_shrink(const Tensor& x, Loc loc) {
  OpScope scope("tanh_shrink", loc);
  return in_full_width(x, [](const Tensor& value) { return value - tanh(value); });
}

Tensor glu(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("glu", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  const std::int64_t length = const_length(x, axis, "since it is split");
  if (length % 2 != 0) fail_op(str_cat("'x' is ", describe(x), "; expected an even length along axis ", axis));
  const std::vector<Tensor> halves = split(x, {length / 2, length / 2}, axis);
  return cast_to(to_wide(halves[0]) * sigmoid(to_wide(halves[1])), float_dtype(x));
}

Tensor softmin(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("softmin", loc);
  return in_full_width(x, [&](const Tensor& value) { return softmax(-value, axis); });
}

Tensor hardmax(const Tensor& x, std::int64_t axis, Loc loc) {
  OpScope scope("hardmax", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  return one_hot(argmax(x, axis), const_length(x, axis, "since its positions are compared"), x.dtype(), axis);
}

}  // namespace hearth::client
