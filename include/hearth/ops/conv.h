// Convolution over any number of spatial axes; x is [N, C, spatial...]. Empty vectors mean the default
// for every spatial axis. Errors: JitError.
//
//   Tensor y = conv(x, w, b, {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct ConvConfig {
  std::vector<std::int64_t> strides = {};     // 1
  std::vector<std::int64_t> pads_begin = {};  // 0; negative crops
  std::vector<std::int64_t> pads_end = {};    // 0
  std::vector<std::int64_t> dilations = {};   // 1
  std::int64_t groups = 1;
};
// w is [C_out, C_in/groups, kernel...]; b is [C_out] or empty.
Tensor conv(const Tensor& x, const Tensor& w, const Tensor& b = {}, const ConvConfig& config = {},
            Loc loc = Loc::current());
// The gradient of conv w.r.t. x: w is [C_in, C_out/groups, kernel...]; pads crop the result;
// `output_pads` adds to its end.
Tensor conv_transpose(const Tensor& x, const Tensor& w, const Tensor& b = {}, const ConvConfig& config = {},
                      const std::vector<std::int64_t>& output_pads = {}, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
