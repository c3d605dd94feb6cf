// Convolution with windows whose elements stand at moved places (deformable convolution, version 2). Errors: JitError.
//
//   Tensor y = deform_conv(x, w, offset, {}, mask, {.pads_begin = {1, 1}, .pads_end = {1, 1}});
#pragma once
#include "hearth/ops/conv.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// The elements are read by linear interpolation, zeros outside: x [N, C, H, W], w [C_out,
// C/groups, kh, kw], offset [N, offset_groups * kh * kw * 2, out...] with the move down before the one to the right, b
// [C_out] (may be empty), mask [N, offset_groups * kh * kw, out...] a factor an element (may be empty).
Tensor deform_conv(const Tensor& x, const Tensor& w, const Tensor& offset, const Tensor& b = {},
                   const Tensor& mask = {}, const ConvConfig& config = {}, std::int64_t offset_groups = 1,
                   Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
