// What convolutions and pools over spatial axes share. Inside client/ only; fails like client/ops/support.h.
//
//   Windows windows = {.kernel = {3}, .strides = {1}, .pads_begin = {1}, .pads_end = {1}, .dilations = {1}};
//   Tensor columns = unfold_spatial(x, windows, 0);      // [N, C, s] -> [N, C, windows, 3]
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "hearth/tensor.h"

namespace hearth::client {

using Lengths = std::vector<std::int64_t>;

// One entry a spatial axis, at least `lowest` each; `value` for every axis when nothing is given.
Lengths or_default(const Lengths& given, std::int64_t spatial, std::int64_t value, std::string_view name,
                   std::int64_t lowest);

struct Windows {
  Lengths kernel, strides, pads_begin, pads_end, dilations;
};

// [N, C, s...] -> [N, C, windows..., kernel...]
Tensor unfold_spatial(const Tensor& x, const Windows& windows, double fill);

Axes trailing_axes(std::int64_t count);

// At least 3 axes.
void check_image(const Tensor& x);

}  // namespace hearth::client
