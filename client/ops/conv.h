// Convolution and pooling over any number of spatial axes; x is [N, C, spatial...]. Empty vectors mean the default
// for every spatial axis. Errors: JitError.
//
//   Tensor y = conv(x, w, b, {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
//   Tensor p = max_pool(y, {.kernel = {2, 2}, .strides = {2, 2}});
#pragma once
#include <vector>

#include "client/tensor.h"

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

struct PoolConfig {
  std::vector<std::int64_t> kernel = {};      // required
  std::vector<std::int64_t> strides = {};     // 1
  std::vector<std::int64_t> pads_begin = {};  // 0
  std::vector<std::int64_t> pads_end = {};    // 0
  std::vector<std::int64_t> dilations = {};   // 1
  bool ceil_mode = false;
  bool count_include_pad = false;  // average: divide by the whole window
};
Tensor max_pool(const Tensor& x, const PoolConfig& config, Loc loc = Loc::current());
Tensor avg_pool(const Tensor& x, const PoolConfig& config, Loc loc = Loc::current());
Tensor global_max_pool(const Tensor& x, Loc loc = Loc::current());
Tensor global_avg_pool(const Tensor& x, Loc loc = Loc::current());

}  // namespace hearth::client
