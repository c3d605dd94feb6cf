// Normalisations. Empty tensors mean "none". Errors: JitError.
//
//   Tensor y = layer_norm(x, scale, bias);
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Over the last axes from `axis` on; scale and bias broadcast against them.
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t axis = -1,
                  double epsilon = 1e-5, Loc loc = Loc::current());
Tensor rms_norm(const Tensor& x, const Tensor& scale, std::int64_t axis = -1, double epsilon = 1e-5,
                Loc loc = Loc::current());
// x [N, C, ...]; scale, bias, mean, variance [C] (inference form).
Tensor batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                  double epsilon = 1e-5, Loc loc = Loc::current());
// x [N, C, ...]; scale, bias [C].
Tensor instance_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon = 1e-5,
                     Loc loc = Loc::current());
// Training form: normalises by the mean and the population variance of x itself; gives them too, [C].
struct BatchNormResult {
  Tensor y, mean, variance;
};
BatchNormResult batch_norm_training(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon = 1e-5,
                                    Loc loc = Loc::current());
// (x - mean) / (standard deviation + epsilon) over `axes`.
Tensor mean_variance_norm(const Tensor& x, const Axes& axes, double epsilon = 1e-9, Loc loc = Loc::current());
// x / (sum of |x|^p along the axis)^(1/p), p >= 1; 0 where that is 0.
Tensor lp_normalize(const Tensor& x, std::int64_t axis = -1, double p = 2, Loc loc = Loc::current());
// x / (bias + alpha / size * sum of squares)^beta, the sum over `size` channels around each one, of an even number
// one more above. x [N, C, ...].
Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75,
                           double bias = 1.0, Loc loc = Loc::current());
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& scale, const Tensor& bias, double epsilon = 1e-5,
                  Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
