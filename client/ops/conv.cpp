#include "hearth/ops/conv.h"

#include <algorithm>

#include "base/text.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

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
  // Products of narrow floats are neither rounded nor too great.
  const auto factor = [&](const Tensor& value) { return is_float(dtype) ? to_wide(value) : value; };
  const Tensor rows = factor(reshape_to(permute(grouped, order), joined({&row_head, &out, &in_channels, &kernel})));
  const Tensor weights = factor(reshape_to(w, joined({&weight_head, &ones, &in_channels, &kernel})));
  const Tensor sum = reduce_sum(expand_to(rows, product) * expand_to(weights, product), trailing_axes(spatial + 1));
  const Shape result_head = {batch, weight[0]};
  const Tensor result = reshape_to(sum, joined({&result_head, &out}));
  const DType with_bias = b.empty() ? dtype : promote(dtype, b.dtype());
  const Tensor shifted = b.empty() ? result : result + per_channel(b, rank, "b", weight[0]);
  return is_float(with_bias) ? cast_to(shifted, with_bias) : shifted;
}

namespace {

// The arguments of one transposed convolution, checked; lengths have one entry a spatial axis.
struct Transposed {
  std::int64_t groups, spatial;
  Lengths weight;  // shape of w: [C_in, C_out/groups, kernel...]
  Lengths strides, dilations, begin, end, extra;
};

// [C_in, C_out/groups, parts...] -> [groups, C_out/groups, C_in/groups, parts...]
Tensor by_result_channel(const Tensor& w, const Transposed& t, const Lengths& parts) {
  Shape split = {t.groups, t.weight[0] / t.groups, t.weight[1]};
  Axes order = {0, 2, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    split.push_back(parts[i]);
    order.push_back(static_cast<std::int64_t>(3 + i));
  }
  return permute(reshape_to(w, split), order);
}

// Zeros between the elements turn the stride into plain distance, then it is a convolution with the flipped kernel.
Tensor over_spread_image(const Tensor& x, const Tensor& w, const Transposed& t) {
  Tensor spread = x;
  ConvConfig plain;
  plain.groups = t.groups;
  plain.dilations = t.dilations;
  Shape merged = {t.groups * t.weight[1], t.weight[0] / t.groups};
  Axes flipped;
  for (std::int64_t i = 0; i < t.spatial; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t axis = 2 + i, stride = t.strides[k];
    const Dim length = spread.dim(axis);
    if (stride > 1) {
      Shape none(spread.shape().size() + 1, Dim(0)), after = none, flat = spread.shape(), cut = spread.shape();
      after[static_cast<std::size_t>(axis) + 1] = stride - 1;
      flat[static_cast<std::size_t>(axis)] = length * stride;
      spread = reshape_to(pad(unsqueeze(spread, {axis + 1}), none, after), flat);
      cut[static_cast<std::size_t>(axis)] = length * stride - (stride - 1);
      spread = shrink(spread, Shape(cut.size(), Dim(0)), cut);
    }
    const std::int64_t reach = t.dilations[k] * (t.weight[k + 2] - 1);
    plain.pads_begin.push_back(reach - t.begin[k]);
    plain.pads_end.push_back(reach - t.end[k] + t.extra[k]);
    merged.push_back(t.weight[k + 2]);
    flipped.push_back(axis);
  }
  const Tensor weights = by_result_channel(w, t, Lengths(t.weight.begin() + 2, t.weight.end()));
  return conv(spread, flip(reshape_to(weights, merged), flipped), {}, plain);
}

// Results a stride apart share their taps: tap t = a * stride + i is that of result h * stride + i for the element h -
// a. So it is a convolution over a with a channel for every i, whose results are then interleaved; nothing is
// multiplied by the zeros between the elements. (Shi et al., "Is the deconvolution layer the same as a convolutional
// layer?", 2016)
Tensor by_phases(const Tensor& x, const Tensor& w, const Transposed& t) {
  const auto spatial = static_cast<std::size_t>(t.spatial);
  const Dim batch = x.dim(0);
  Shape pad_none(spatial + 2, Dim(0)), pad_after = pad_none;
  ConvConfig plain;
  plain.groups = t.groups;
  Lengths parts;  // a, i of every axis
  Axes flipped;
  Axes interleaved = {0, 1};                       // results: [n, o, i..., h...] -> [n, o, h, i, ...]
  Shape phases = {batch, t.groups * t.weight[1]};  // [n, o, i...], then h...
  Shape flat = phases, before(2, Dim(0)), after = before;
  std::int64_t num_phases = 1;
  Lengths taps;
  for (std::size_t k = 0; k < spatial; ++k) {
    const std::int64_t stride = t.strides[k], kernel = t.weight[k + 2];
    taps.push_back((kernel + stride - 1) / stride);
    pad_after[k + 2] = taps[k] * stride - kernel;
    parts.insert(parts.end(), {taps[k], stride});
    flipped.push_back(static_cast<std::int64_t>(3 + 2 * k));
    num_phases *= stride;
    plain.pads_begin.push_back(taps[k] - 1);
    plain.pads_end.push_back(taps[k] - 1);
    const Dim rows = x.dim(static_cast<std::int64_t>(2 + k)) + (taps[k] - 1);
    phases.push_back(stride);
    flat.push_back(rows * stride);
    interleaved.insert(interleaved.end(),
                       {static_cast<std::int64_t>(2 + spatial + k), static_cast<std::int64_t>(2 + k)});
    before.push_back(-t.begin[k]);  // crops
    after.push_back(kernel - taps[k] * stride - t.end[k] + t.extra[k]);
  }
  Axes order = {0, 1};  // weights: [g, o, c, a, i, ...] -> [g, o, i..., c, a...]
  for (std::size_t k = 0; k < spatial; ++k) order.push_back(static_cast<std::int64_t>(4 + 2 * k));
  order.push_back(2);
  for (std::size_t k = 0; k < spatial; ++k) order.push_back(static_cast<std::int64_t>(3 + 2 * k));
  Shape merged = {t.groups * t.weight[1] * num_phases, t.weight[0] / t.groups};
  for (std::size_t k = 0; k < spatial; ++k) {
    merged.push_back(taps[k]);
    phases.push_back(x.dim(static_cast<std::int64_t>(2 + k)) + (taps[k] - 1));
  }
  const Tensor weights = flip(by_result_channel(pad(w, pad_none, pad_after), t, parts), flipped);
  const Tensor result = conv(x, reshape_to(permute(weights, order), merged), {}, plain);
  return pad(reshape_to(permute(reshape_to(result, phases), interleaved), flat), before, after);
}

}  // namespace

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
  const std::int64_t lowest = -(std::int64_t{1} << 31);
  const Transposed t = {groups,
                        spatial,
                        weight,
                        or_default(config.strides, spatial, 1, "strides", 1),
                        or_default(config.dilations, spatial, 1, "dilations", 1),
                        or_default(config.pads_begin, spatial, 0, "pads_begin", lowest),
                        or_default(config.pads_end, spatial, 0, "pads_end", lowest),
                        or_default(output_pads, spatial, 0, "output_pads", 0)};
  const auto is_one = [](std::int64_t length) { return length == 1; };
  const bool has_phases = !std::ranges::all_of(t.strides, is_one) && std::ranges::all_of(t.dilations, is_one);
  const bool narrow = is_float(x.dtype()) && !b.empty();  // the bias is added before the sum is rounded
  const Tensor image = narrow ? to_wide(x) : x;
  const Tensor result = has_phases ? by_phases(image, w, t) : over_spread_image(image, w, t);
  if (b.empty()) return result;
  const Tensor shifted = result + per_channel(b, rank, "b", groups * weight[1]);
  return narrow ? cast_to(shifted, promote(promote(x.dtype(), w.dtype()), b.dtype())) : shifted;
}

}  // namespace hearth::client
