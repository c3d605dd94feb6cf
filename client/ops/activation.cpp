// The activations of client/ops/elementwise.h, built from its other ops.
#include <cmath>

#include "client/ops/elementwise.h"
#include "client/ops/support.h"

namespace hearth::client {

Tensor relu(const Tensor& x, Loc loc) {
  OpScope scope("relu", loc);
  return maximum(x, 0);
}

Tensor leaky_relu(const Tensor& x, double slope, Loc loc) {
  OpScope scope("leaky_relu", loc);
  const Tensor value = to_float(require(x, "x"));
  return where(less(value, 0), value * slope, value);
}

Tensor elu(const Tensor& x, double alpha, Loc loc) {
  OpScope scope("elu", loc);
  const Tensor value = to_float(require(x, "x"));
  return where(less(value, 0), (exp(value) - 1.0) * alpha, value);
}

Tensor selu(const Tensor& x, Loc loc) {
  OpScope scope("selu", loc);
  return elu(x, 1.6732632423543772) * 1.0507009873554805;
}

Tensor gelu(const Tensor& x, bool tanh_approximation, Loc loc) {
  OpScope scope("gelu", loc);
  const Tensor value = to_float(require(x, "x"));
  if (!tanh_approximation) return value * 0.5 * (erf(value * std::sqrt(0.5)) + 1.0);
  const double scale = std::sqrt(2.0 / 3.14159265358979323846);
  return value * 0.5 * (tanh((value + value * value * value * 0.044715) * scale) + 1.0);
}

Tensor silu(const Tensor& x, Loc loc) {
  OpScope scope("silu", loc);
  return to_float(require(x, "x")) * sigmoid(x);
}

Tensor softplus(const Tensor& x, Loc loc) {
  OpScope scope("softplus", loc);
  const Tensor value = to_float(require(x, "x"));
  return maximum(value, 0) + log(exp(-abs(value)) + 1.0);  // does not overflow for large x
}

Tensor mish(const Tensor& x, Loc loc) {
  OpScope scope("mish", loc);
  return to_float(require(x, "x")) * tanh(softplus(x));
}

Tensor softsign(const Tensor& x, Loc loc) {
  OpScope scope("softsign", loc);
  const Tensor value = to_float(require(x, "x"));
  return value / (abs(value) + 1.0);
}

Tensor hard_sigmoid(const Tensor& x, double alpha, double beta, Loc loc) {
  OpScope scope("hard_sigmoid", loc);
  return clip(to_float(require(x, "x")) * alpha + beta, 0.0, 1.0);
}

Tensor hard_swish(const Tensor& x, Loc loc) {
  OpScope scope("hard_swish", loc);
  return to_float(require(x, "x")) * hard_sigmoid(x, 1.0 / 6.0, 0.5);
}

}  // namespace hearth::client
