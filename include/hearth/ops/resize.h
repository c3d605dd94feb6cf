// Resizing along any axes by interpolation, as ONNX's Resize defines it. The taps and their weights are known while
// recording: a constant number of neighbours is gathered along each axis and summed. Errors: JitError.
//
//   Tensor y = resize(x, {{.axis = 2, .length = 64}, {.axis = 3, .length = 64}}, {.mode = ResizeMode::kLinear});
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

enum class ResizeMode { kNearest, kLinear, kCubic };

// Where in the input, of n elements, position i of the result, of m elements, stands; scale = m / n unless given.
enum class ResizeCoordinates {
  kHalfPixel,           // (i + 0.5) / scale - 0.5
  kHalfPixelSymmetric,  // likewise, moved so that both ends are equally far off when the scale is not m / n
  kPytorchHalfPixel,    // likewise, but 0 where m = 1
  kAlignCorners,        // i * (n - 1) / (n * scale - 1)
  kAsymmetric,          // i / scale
  kTfHalfPixelForNn,    // (i + 0.5) / scale
  kTfCropAndResize,     // from crop_begin to crop_end, both times n - 1
};

enum class NearestMode { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct ResizeConfig {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  double cubic_a = -0.75;        // of Keys' kernel
  bool exclude_outside = false;  // neighbours outside do not count; else they repeat the edge
  bool antialias = false;        // linear and cubic: a kernel as wide as the distance of results when shrinking
  double extrapolation = 0;      // kTfCropAndResize: what stands where the position is outside
};

struct ResizeAxis {
  std::int64_t axis = 0;
  std::int64_t length = 0;
  double scale = 0;  // 0: length / the axis's length, where that is constant
  double crop_begin = 0;
  double crop_end = 1;
};

// Keeps x's dtype; interpolates in f32 (f64 for f64), integers are truncated after. Axes have constant lengths, or
// symbolic ones that a whole number scales (`length` says nothing then).
Tensor resize(const Tensor& x, const std::vector<ResizeAxis>& axes, const ResizeConfig& config = {},
              Loc loc = Loc::current());

// The weight of a neighbour at `distance` in Keys' cubic interpolation.
double cubic_weight(double distance, double a);

}  // namespace hearth::client
#pragma GCC visibility pop
