#include "client/ops/conv.h"

#include "client/ops/elementwise.h"
#include "client/ops/movement.h"
#include "client/ops/reduce.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "runtime/text.h"

namespace hearth::client {

Tensor conv(const Tensor& x_given, const Tensor& w_given, const Tensor& b, const ConvConfig& config, Loc loc) {
  OpScope scope("conv", loc);
  check_image(x_given);
  require(w_given, "w");
  const DType dtype = promote(x_given.dtype(), w_given.dtype());
  const Tensor x = cast_to(x_given, dtype), w = cast_to(w_given, dtype);
  const std::int64_t rank = x.rank(), spatial = rank - 2, groups = config.groups;
  const Dim batch = x.dim(0);
  if (w.rank() != rank) {
    fail_op(str_cat("'x' is ", describe(x), " and 'w' is ", describe(w), "; expected the same number of axes"));
  }
  const Lengths weight = const_shape(w.shape());
  const std::int64_t channels = const_length(x, 1, "since it counts channels");
  if (groups < 1 || weight[0] % groups != 0 || channels != weight[1] * groups) {
    fail_op(str_cat("'x' is ", describe(x), ", 'w' is ", describe(w), " with ", groups,
                    " groups; expected x's channels = w's second length * groups, and groups to divide ", weight[0]));
  }
  Windows windows;
  windows.kernel.assign(weight.begin() + 2, weight.end());
  windows.strides = or_default(config.strides, spatial, 1, "strides", 1);
  windows.pads_begin = or_default(config.pads_begin, spatial, 0, "pads_begin", -(std::int64_t{1} << 31));
  windows.pads_end = or_default(config.pads_end, spatial, 0, "pads_end", -(std::int64_t{1} << 31));
  windows.dilations = or_default(config.dilations, spatial, 1, "dilations", 1);

  // The direct form: [N, G, Cout/G, out..., Cin/G, k...] = image * weight, summed over the axes after `out`.
  const Tensor image = unfold_spatial(x, windows, 0);
  const Shape out(image.shape().begin() + 2, image.shape().begin() + rank);
  const Shape kernel(image.shape().begin() + rank, image.shape().end());
  auto joined = [](std::initializer_list<const Shape*> parts) {
    Shape shape;
    for (const Shape* part : parts) shape.insert(shape.end(), part->begin(), part->end());
    return shape;
  };
  const Shape group_head = {batch, groups, channels / groups}, row_head = {batch, groups, 1};
  const Shape in_channels = {channels / groups}, ones(static_cast<std::size_t>(spatial), Dim(1));
  const Shape full_head = {batch, groups, weight[0] / groups}, weight_head = {1, groups, weight[0] / groups};
  const Shape product = joined({&full_head, &out, &in_channels, &kernel});

  const Tensor grouped = reshape_to(image, joined({&group_head, &out, &kernel}));
  Axes order = {0, 1};
  for (std::int64_t i = 0; i < spatial; ++i) order.push_back(3 + i);
  order.push_back(2);
  for (std::int64_t i = 0; i < spatial; ++i) order.push_back(3 + spatial + i);
  const Tensor rows = reshape_to(permute(grouped, order), joined({&row_head, &out, &in_channels, &kernel}));
  const Tensor weights = reshape_to(w, joined({&weight_head, &ones, &in_channels, &kernel}));
  const Tensor sum = reduce_sum(expand_to(rows, product) * expand_to(weights, product), trailing_axes(spatial + 1));
  const Shape result_head = {batch, weight[0]};
  const Tensor result = reshape_to(sum, joined({&result_head, &out}));
  return b.empty() ? result : result + per_channel(b, rank, "b", weight[0]);
}

Tensor conv_transpose(const Tensor& x, const Tensor& w, const Tensor& b, const ConvConfig& config,
                      const Lengths& output_pads, Loc loc) {
  OpScope scope("conv_transpose", loc);
  check_image(x);
  require(w, "w");
  const std::int64_t rank = x.rank(), spatial = rank - 2, groups = config.groups;
  if (w.rank() != rank) {
    fail_op(str_cat("'x' is ", describe(x), " and 'w' is ", describe(w), "; expected the same number of axes"));
  }
  const Lengths weight = const_shape(w.shape());
  if (groups < 1 || weight[0] % groups != 0 || !(x.dim(1) == Dim(weight[0]))) {
    fail_op(str_cat("'x' is ", describe(x), ", 'w' is ", describe(w), " with ", groups,
                    " groups; expected x's channels = w's first length, divided by groups"));
  }
  const Lengths strides = or_default(config.strides, spatial, 1, "strides", 1);
  const Lengths dilations = or_default(config.dilations, spatial, 1, "dilations", 1);
  const Lengths begin = or_default(config.pads_begin, spatial, 0, "pads_begin", -(std::int64_t{1} << 31));
  const Lengths end = or_default(config.pads_end, spatial, 0, "pads_end", -(std::int64_t{1} << 31));
  const Lengths extra = or_default(output_pads, spatial, 0, "output_pads", 0);

  // Zeros between the elements turn the stride into plain distance, then it is a convolution with the flipped kernel.
  Tensor spread = x;
  ConvConfig plain;
  plain.groups = groups;
  plain.dilations = dilations;
  for (std::int64_t i = 0; i < spatial; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t axis = 2 + i, stride = strides[k];
    const Dim length = spread.dim(axis);
    if (stride > 1) {
      Shape none(spread.shape().size() + 1, Dim(0)), after = none, flat = spread.shape(), cut = spread.shape();
      after[static_cast<std::size_t>(axis) + 1] = stride - 1;
      flat[static_cast<std::size_t>(axis)] = length * stride;
      spread = reshape_to(pad(unsqueeze(spread, {axis + 1}), none, after), flat);
      cut[static_cast<std::size_t>(axis)] = length * stride - (stride - 1);
      spread = shrink(spread, Shape(cut.size(), Dim(0)), cut);
    }
    const std::int64_t reach = dilations[k] * (weight[k + 2] - 1);
    plain.pads_begin.push_back(reach - begin[k]);
    plain.pads_end.push_back(reach - end[k] + extra[k]);
  }
  Shape split = {groups, weight[0] / groups, weight[1]}, merged = {groups * weight[1], weight[0] / groups};
  Axes order = {0, 2, 1}, flipped;
  for (std::int64_t i = 0; i < spatial; ++i) {
    split.push_back(weight[static_cast<std::size_t>(2 + i)]);
    merged.push_back(weight[static_cast<std::size_t>(2 + i)]);
    order.push_back(3 + i);
    flipped.push_back(2 + i);
  }
  return conv(spread, flip(reshape_to(permute(reshape_to(w, split), order), merged), flipped), b, plain);
}

}  // namespace hearth::client
