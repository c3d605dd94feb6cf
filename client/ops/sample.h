// Images read at computed places: grids of coordinates and regions of interest. Images are [N, C, spatial...].
// Errors: JitError.
//
//   Tensor y = grid_sample(x, affine_grid(theta, {32, 32}));       // x [N, C, H, W], theta [N, 2, 3]
#pragma once
#include <vector>

#include "client/ops/conv.h"
#include "client/tensor.h"

namespace hearth::client {

enum class SampleMode { kNearest, kLinear, kCubic };
enum class SamplePadding { kZeros, kBorder, kReflection };

struct SampleConfig {
  SampleMode mode = SampleMode::kLinear;
  SamplePadding padding = SamplePadding::kZeros;
  bool align_corners = false;  // -1 and 1 are the centres of the outermost elements, not their outer edges
};
// x [N, C, s1, ..., sd] at grid [N, out..., d], whose last axis counts the spatial axes from the last one (x before y)
// -> [N, C, out...] in x's dtype. Spatial lengths are constant. As ONNX defines it: a place outside is first moved to
// the border (or mirrored), then its neighbours are; cubic is Keys' kernel with -0.75; nearest is half to even.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const SampleConfig& config = {}, Loc loc = Loc::current());
// A convolution whose windows' elements are read (linear, zeros outside) at moved places: x [N, C, H, W], w [C_out,
// C/groups, kh, kw], offset [N, offset_groups * kh * kw * 2, out...] with the move down before the one to the right, b
// [C_out] (may be empty), mask [N, offset_groups * kh * kw, out...] a factor an element (may be empty).
Tensor deform_conv(const Tensor& x, const Tensor& w, const Tensor& offset, const Tensor& b = {},
                   const Tensor& mask = {}, const ConvConfig& config = {}, std::int64_t offset_groups = 1,
                   Loc loc = Loc::current());
// theta [N, d, d + 1] applied to the places of an image of `lengths` (d of them) -> a grid [N, lengths..., d].
Tensor affine_grid(const Tensor& theta, const std::vector<std::int64_t>& lengths, bool align_corners = false,
                   Loc loc = Loc::current());

struct RoiConfig {
  std::int64_t height = 1, width = 1;  // of the result
  double spatial_scale = 1;            // from the coordinates of a region to those of the image
  std::int64_t sampling_ratio = 1;     // roi_align: places read a bin along each axis
  bool half_pixel = true;  // roi_align: coordinates are of pixels' corners; else regions are at least 1 long
};
// Averages of bilinear samples in each bin: x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2), batch [R] (integers, clamped
// into range) -> [R, C, height, width].
Tensor roi_align(const Tensor& x, const Tensor& rois, const Tensor& batch, const RoiConfig& config,
                 Loc loc = Loc::current());
// The maximum of each bin of whole pixels, 0 in an empty bin: rois [R, 5] (batch, x1, y1, x2, y2), both ends included.
Tensor max_roi_pool(const Tensor& x, const Tensor& rois, const RoiConfig& config, Loc loc = Loc::current());

}  // namespace hearth::client
