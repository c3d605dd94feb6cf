// Regions of interest of images, each brought to one size. Errors: JitError.
//
//   Tensor y = roi_align(x, boxes, images, {.height = 7, .width = 7, .spatial_scale = 1.0 / 16, .sampling_ratio = 2});
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

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
#pragma GCC visibility pop
