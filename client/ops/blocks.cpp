#include "hearth/ops/blocks.h"

#include <algorithm>

#include "base/text.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

void check_blocks(const Tensor& x, std::int64_t block) {
  if (require(x, "x").rank() != 4 || block < 1 || block > 1 << 15) {
    fail_op(str_cat("'x' is ", describe(x), " in blocks of ", block, "; expected [N, C, H, W] and a positive block"));
  }
}

// Where the values of one axis of an image come from: `count` (kernel place, window) pairs a place, as positions in
// [kernel, windows]. Those beyond a place's own are not `used`.
struct Sources {
  std::int64_t count = 0;
  std::vector<std::int64_t> position;
  std::string used;
};

struct FoldAxis {
  std::int64_t image, kernel, stride, begin, dilation, windows;
};

Sources find_sources(const FoldAxis& axis) {
  std::vector<Lengths> found(static_cast<std::size_t>(axis.image));
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    for (std::int64_t window = 0; window < axis.windows; ++window) {
      const std::int64_t place = window * axis.stride + k * axis.dilation - axis.begin;
      if (place >= 0 && place < axis.image) found[static_cast<std::size_t>(place)].push_back(k * axis.windows + window);
    }
  }
  Sources sources;
  for (const Lengths& here : found) sources.count = std::max(sources.count, static_cast<std::int64_t>(here.size()));
  sources.count = std::max<std::int64_t>(sources.count, 1);
  for (const Lengths& here : found) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(sources.count); ++i) {
      sources.position.push_back(i < here.size() ? here[i] : 0);
      sources.used.push_back(i < here.size());
    }
  }
  return sources;
}

std::vector<FoldAxis> fold_axes(const Lengths& image, const Lengths& kernel, const ConvConfig& config) {
  const auto spatial = static_cast<std::int64_t>(image.size());
  if (image.empty()) fail_op("'image' is empty; expected one length a spatial axis");
  if (kernel.empty()) fail_op("'kernel' is empty; expected one length a spatial axis");
  or_default(image, spatial, 1, "image", 1);
  or_default(kernel, spatial, 1, "kernel", 1);
  const Lengths strides = or_default(config.strides, spatial, 1, "strides", 1);
  const Lengths begin = or_default(config.pads_begin, spatial, 0, "pads_begin", 0);
  const Lengths end = or_default(config.pads_end, spatial, 0, "pads_end", 0);
  const Lengths dilations = or_default(config.dilations, spatial, 1, "dilations", 1);
  std::vector<FoldAxis> axes;
  for (std::size_t i = 0; i < image.size(); ++i) {
    FoldAxis axis = {image[i], kernel[i], strides[i], begin[i], dilations[i], 0};
    const std::int64_t padded = axis.image + axis.begin + end[i];
    const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
    if (reach > padded) {
      fail_op(str_cat("a window spans ", reach, " elements but the padded image has ", padded, " along axis ", i));
    }
    axis.windows = (padded - reach) / axis.stride + 1;
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Tensor depth_to_space(const Tensor& x, std::int64_t block, BlockOrder order, Loc loc) {
  OpScope scope("depth_to_space", loc);
  check_blocks(x, block);
  const Dim n = x.dim(0), h = x.dim(2), w = x.dim(3), channels = x.dim(1) / Dim(block * block);
  if (!(x.dim(1) % Dim(block * block) == Dim(0))) {
    fail_op(str_cat("'x' is ", describe(x), "; expected channels that divide into blocks of ", block, "x", block));
  }
  const bool block_first = order == BlockOrder::kBlockFirst;
  const Tensor parts =
      reshape(x, block_first ? Shape{n, block, block, channels, h, w} : Shape{n, channels, block, block, h, w});
  const Tensor placed = permute(parts, block_first ? Axes{0, 3, 4, 1, 5, 2} : Axes{0, 1, 4, 2, 5, 3});
  return reshape(placed, {n, channels, h * block, w * block});
}

Tensor space_to_depth(const Tensor& x, std::int64_t block, BlockOrder order, Loc loc) {
  OpScope scope("space_to_depth", loc);
  check_blocks(x, block);
  const Dim n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  if (!(h % Dim(block) == Dim(0)) || !(w % Dim(block) == Dim(0))) {
    fail_op(str_cat("'x' is ", describe(x), "; expected an image that divides into blocks of ", block, "x", block));
  }
  const bool block_first = order == BlockOrder::kBlockFirst;
  const Tensor parts = reshape(x, {n, c, h / block, block, w / block, block});
  const Tensor placed = permute(parts, block_first ? Axes{0, 3, 5, 1, 2, 4} : Axes{0, 1, 3, 5, 2, 4});
  return reshape(placed, {n, c * (block * block), h / block, w / block});
}

Tensor pixel_shuffle(const Tensor& x, std::int64_t factor, Loc loc) {
  OpScope scope("pixel_shuffle", loc);
  return depth_to_space(x, factor, BlockOrder::kChannelFirst);
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor, Loc loc) {
  OpScope scope("pixel_unshuffle", loc);
  return space_to_depth(x, factor, BlockOrder::kChannelFirst);
}

Tensor center_crop_pad(const Tensor& x, const Lengths& lengths, const Axes& axes, Loc loc) {
  OpScope scope("center_crop_pad", loc);
  normal_axes(axes, require(x, "x").rank());  // range and uniqueness
  if (axes.size() != lengths.size()) {
    fail_op(str_cat("there are ", lengths.size(), " lengths for ", axes.size(), " axes; expected one an axis"));
  }
  Shape before(x.shape().size(), Dim(0)), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (lengths[i] < 0) fail_op(str_cat("'lengths' holds ", lengths[i], "; expected >= 0"));
    const std::int64_t axis = normal_axis(axes[i], x.rank());
    const std::int64_t more = lengths[i] - const_length(x, axis, "since it is cropped or padded");
    before[static_cast<std::size_t>(axis)] = more / 2;  // towards zero, for crops too
    after[static_cast<std::size_t>(axis)] = more - more / 2;
  }
  return pad(x, before, after);
}

Tensor fold(const Tensor& x, const Lengths& image, const Lengths& kernel, const ConvConfig& config, Loc loc) {
  OpScope scope("fold", loc);
  require(x, "x");
  const std::vector<FoldAxis> axes = fold_axes(image, kernel, config);
  Dim columns = 1, windows = 1;  // overflow is an error
  for (const FoldAxis& axis : axes) {
    columns = columns * axis.kernel;
    windows = windows * axis.windows;
  }
  if (x.rank() != 3 || const_length(x, 1, "since it holds windows") % columns.value() != 0 || !(x.dim(2) == windows)) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected [N, C * ", columns.to_string(), ", ",
                    windows.to_string(), "]"));
  }
  // [N, C, kernel..., windows...]; each step turns the next kernel axis and its windows into one of the image.
  Shape shape = {x.dim(0), x.dim(1) / columns};
  for (const FoldAxis& axis : axes) shape.push_back(axis.kernel);
  for (const FoldAxis& axis : axes) shape.push_back(axis.windows);
  Tensor value = reshape(is_float(x.dtype()) ? to_wide(x) : x, shape);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(2 + i), left = static_cast<std::int64_t>(axes.size() - i);
    Axes order;
    for (std::int64_t k = 0; k < value.rank(); ++k) {
      if (k == at + left) continue;
      order.push_back(k);
      if (k == at) order.push_back(at + left);
    }
    const Tensor pairs = permute(value, order);
    Shape joined = pairs.shape();
    joined.erase(joined.begin() + at);
    joined[static_cast<std::size_t>(at)] = axes[i].kernel * axes[i].windows;
    const Sources sources = find_sources(axes[i]);
    const Tensor parts =
        gather(reshape(pairs, joined), constant_i64({axes[i].image, sources.count}, sources.position), at);
    Shape mask(parts.shape().size(), Dim(1));
    mask[static_cast<std::size_t>(at)] = axes[i].image;
    mask[static_cast<std::size_t>(at) + 1] = sources.count;
    value = reduce_sum(where(constant(mask, DType::kBool, sources.used), parts, 0), {at + 1});
  }
  return cast_to(value, x.dtype());
}

}  // namespace hearth::client
