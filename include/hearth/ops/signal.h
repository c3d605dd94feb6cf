// Fourier transforms and what surrounds them. Complex numbers stand along a last axis of length 2. Errors: JitError.
//
//   Tensor spectrum = stft(x, hann_window(400), 160);              // x [N, samples, 1] -> [N, frames, 201, 2]
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct DftConfig {
  std::int64_t axis = 1;
  std::int64_t length = 0;  // the axis is cut or filled with zeros to it; 0: as it is
  bool inverse = false;     // also divides by the length
  // Only the first length / 2 + 1, of real input. With `inverse`: x is that half of a spectrum, the result real, [..., 1],
  // and without `length` of the even length 2 (n - 1).
  bool onesided = false;
};
// x [..., 1] (real) or [..., 2] -> [..., 2] in x's dtype, computed in f32 (f64 for f64). A product with a matrix of
// sines and cosines for lengths up to 64 and primes; others are split into two factors near the root: the cost is
// length * (sum of them).
Tensor dft(const Tensor& x, const DftConfig& config = {}, Loc loc = Loc::current());
// Frames of x [N, samples, 1 or 2], `step` apart, each as long as `window` and multiplied by it, transformed:
// [N, frames, bins, 2]. Samples that make no whole frame are left out.
Tensor stft(const Tensor& x, const Tensor& window, std::int64_t step, bool onesided = true, Loc loc = Loc::current());

// Windows of `length`: periodic ones are the first `length` of a symmetric one of length + 1. One alone is 1.
Tensor hann_window(std::int64_t length, bool periodic = true, DType dtype = DType::kF32, Loc loc = Loc::current());
Tensor hamming_window(std::int64_t length, bool periodic = true, DType dtype = DType::kF32, double alpha = 0.54,
                      Loc loc = Loc::current());
Tensor blackman_window(std::int64_t length, bool periodic = true, DType dtype = DType::kF32, Loc loc = Loc::current());

struct MelConfig {
  std::int64_t bins = 0;
  std::int64_t dft_length = 0;
  std::int64_t sample_rate = 0;
  double low_hertz = 0;
  double high_hertz = 0;
};
// [dft_length / 2 + 1, bins]: triangles between the frequencies that are equally far apart in mel,
// 2595 log10(1 + hertz / 700), rounded down to places of the spectrum, as ONNX's MelWeightMatrix defines it.
Tensor mel_weight_matrix(const MelConfig& config, DType dtype = DType::kF32, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
