// Reading images at computed places: what grids, regions and moved windows share. Inside client/ only; fails like
// client/ops/support.h.
//
//   Tensor y = interpolate(x, {rows, columns}, {.mode = SampleMode::kLinear});   // rows, columns [N, P...]
#pragma once
#include <vector>

#include "hearth/ops/sample.h"
#include "hearth/tensor.h"

namespace hearth::client {

// [N, C, spatial...] with that many constant spatial lengths, none 0.
void check_sampled(const Tensor& x, std::int64_t spatial);
// x [N, C, s...] at `batch` and one place a spatial axis, integers in range that broadcast to [R, P...] -> [R, C,
// P...].
Tensor at_places(const Tensor& x, const Tensor& batch, const std::vector<Tensor>& places);
// x [R, C, s...] read at one real place a spatial axis, each [R, P...] -> [R, C, P...] in x's dtype.
Tensor interpolate(const Tensor& x, const std::vector<Tensor>& at, const SampleConfig& config);

}  // namespace hearth::client
