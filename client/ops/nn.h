// Normalisations and recurrent cells. Empty tensors mean "none". Errors: JitError.
//
//   auto [h1, c1] = lstm_cell(x, h, c, w, r, b, GateOrder::kInputOutputForgetCell);
#pragma once
#include <utility>

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

// Order of the four gate blocks in w, r and b.
enum class GateOrder {
  kInputForgetCellOutput,  // PyTorch
  kInputOutputForgetCell,  // ONNX
};
struct LstmTensors {
  Tensor h;  // [N, H]
  Tensor c;  // [N, H]
};
// One step: x [N, I], w [4H, I], r [4H, H], b [4H] (or empty).
LstmTensors lstm_cell(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                      GateOrder order, Loc loc = Loc::current());
struct LstmResult {
  Tensor y;  // [T, N, H]
  LstmTensors last;
};
// One direction over time, unrolled: x [T, N, I] with constant T. `reverse` runs from the end; y stays in time order.
LstmResult lstm(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                GateOrder order, bool reverse = false, Loc loc = Loc::current());
// One step of a GRU: w [3H, I], r [3H, H], bw and br [3H] (or empty); gate blocks z, r, h as in ONNX.
// `linear_before_reset` as in ONNX (PyTorch: true).
Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw, const Tensor& br,
                bool linear_before_reset, Loc loc = Loc::current());

}  // namespace hearth::client
