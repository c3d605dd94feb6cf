// Normalisations. Empty tensors mean "none". Errors: JitError.
//
//   Tensor y = layer_norm(x, scale, bias);
#pragma once
#include "client/tensor.h"

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
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& scale, const Tensor& bias, double epsilon = 1e-5,
                  Loc loc = Loc::current());

}  // namespace hearth::client
