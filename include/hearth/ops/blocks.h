// Blocks of an image: between channels and places, between windows and the image, and crops and pads around the
// centre. Only movement, but for the sums of fold. Errors: JitError.
//
//   Tensor y = pixel_shuffle(x, 2);      // [N, 4 C, H, W] -> [N, C, 2 H, 2 W]
#pragma once
#include <vector>

#include "hearth/ops/conv.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// Which comes first along the channels: the place in the block, or the channel of the result.
enum class BlockOrder { kBlockFirst, kChannelFirst };

// [N, block^2 C, H, W] -> [N, C, block H, block W] and back.
Tensor depth_to_space(const Tensor& x, std::int64_t block, BlockOrder order = BlockOrder::kBlockFirst,
                      Loc loc = Loc::current());
Tensor space_to_depth(const Tensor& x, std::int64_t block, BlockOrder order = BlockOrder::kBlockFirst,
                      Loc loc = Loc::current());
// The same, the channel first.
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor, Loc loc = Loc::current());
Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor, Loc loc = Loc::current());

// Along each axis the middle `lengths` elements, or the axis in the middle of zeros. When a number is odd the smaller
// part is before.
Tensor center_crop_pad(const Tensor& x, const std::vector<std::int64_t>& lengths, const Axes& axes,
                       Loc loc = Loc::current());

// Columns of windows summed into the image they were cut from: x [N, C * kernel..., windows] -> [N, C, image...].
// `config.groups` is not read.
Tensor fold(const Tensor& x, const std::vector<std::int64_t>& image, const std::vector<std::int64_t>& kernel,
            const ConvConfig& config = {}, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
