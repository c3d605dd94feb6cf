// Images [N, C, spatial...] read at a grid of coordinates. Errors: JitError.
//
//   Tensor y = grid_sample(x, affine_grid(theta, {32, 32}));       // x [N, C, H, W], theta [N, 2, 3]
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
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
// theta [N, d, d + 1] applied to the places of an image of `lengths` (d of them) -> a grid [N, lengths..., d].
Tensor affine_grid(const Tensor& theta, const std::vector<std::int64_t>& lengths, bool align_corners = false,
                   Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
