// Activation functions of ONNX and PyTorch, elementwise unless an axis is given; integers are cast to f32 first, except
// by relu and prelu. Errors: JitError.
//
//   Tensor y = gelu(linear(x, w, b));
#pragma once
#include <functional>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

using Activation = std::function<Tensor(const Tensor&)>;  // of a caller's; empty: the usual one of its place

Tensor relu(const Tensor& x, Loc loc = Loc::current());
Tensor leaky_relu(const Tensor& x, double slope = 0.01, Loc loc = Loc::current());
Tensor elu(const Tensor& x, double alpha = 1.0, Loc loc = Loc::current());
Tensor selu(const Tensor& x, Loc loc = Loc::current());
Tensor gelu(const Tensor& x, bool tanh_approximation = false, Loc loc = Loc::current());
Tensor silu(const Tensor& x, Loc loc = Loc::current());
// gate * sigmoid(alpha gate) * x, of equal shapes.
Tensor swiglu(const Tensor& gate, const Tensor& x, double alpha = 1.0, Loc loc = Loc::current());
Tensor mish(const Tensor& x, Loc loc = Loc::current());
Tensor softplus(const Tensor& x, Loc loc = Loc::current());
Tensor softsign(const Tensor& x, Loc loc = Loc::current());
Tensor hard_sigmoid(const Tensor& x, double alpha = 0.2, double beta = 0.5, Loc loc = Loc::current());
Tensor hard_swish(const Tensor& x, Loc loc = Loc::current());
Tensor relu6(const Tensor& x, Loc loc = Loc::current());  // clipped to [0, 6]
Tensor hard_tanh(const Tensor& x, double low = -1, double high = 1, Loc loc = Loc::current());
// max(x, 0) + min(0, alpha (exp(x / alpha) - 1)); alpha is not 0.
Tensor celu(const Tensor& x, double alpha = 1.0, Loc loc = Loc::current());
// x where it is not negative, else x * slope; `slope` broadcasts to x.
Tensor prelu(const Tensor& x, const Tensor& slope, Loc loc = Loc::current());
Tensor thresholded_relu(const Tensor& x, double threshold = 1.0, Loc loc = Loc::current());  // x above it, else 0
Tensor log_sigmoid(const Tensor& x, Loc loc = Loc::current());
Tensor hard_shrink(const Tensor& x, double threshold = 0.5,
                   Loc loc = Loc::current());  // 0 within [-threshold, threshold]
Tensor soft_shrink(const Tensor& x, double threshold = 0.5, Loc loc = Loc::current());  // and moved towards 0 outside
Tensor tanh_shrink(const Tensor& x, Loc loc = Loc::current());                          // x - tanh(x)
// The first half of `axis` times the sigmoid of the second; its length is even.
Tensor glu(const Tensor& x, std::int64_t axis = -1, Loc loc = Loc::current());
Tensor softmin(const Tensor& x, std::int64_t axis = -1, Loc loc = Loc::current());
// 1 at the first greatest element along `axis`, else 0; its length is constant.
Tensor hardmax(const Tensor& x, std::int64_t axis = -1, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
