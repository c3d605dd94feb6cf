#include "client/ops/conv.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/ops/elementwise.h"
#include "client/ops/movement.h"
#include "client/ops/reduce.h"
#include "client/ops/support.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

using Lengths = std::vector<std::int64_t>;

Lengths or_default(const Lengths& given, std::int64_t spatial, std::int64_t value, std::string_view name,
                   std::int64_t lowest) {
  if (given.empty()) return Lengths(static_cast<std::size_t>(spatial), value);
  if (static_cast<std::int64_t>(given.size()) != spatial) {
    fail_op(str_cat("'", name, "' has ", given.size(), " entries; expected ", spatial, ", one a spatial axis"));
  }
  for (std::int64_t entry : given) {
    if (entry < lowest || entry > std::numeric_limits<std::int32_t>::max()) {
      fail_op(str_cat("'", name, "' holds ", entry, "; expected at least ", lowest, " and less than 2^31"));
    }
  }
  return given;
}

struct Windows {
  Lengths kernel, strides, pads_begin, pads_end, dilations;
};

Shape with_spatial(std::int64_t rank, const Lengths& spatial) {
  Shape shape(static_cast<std::size_t>(rank), Dim(0));
  for (std::size_t i = 0; i < spatial.size(); ++i) shape[2 + i] = spatial[i];
  return shape;
}

// [N, C, s...] -> [N, C, windows..., kernel...]
Tensor unfold_spatial(const Tensor& x, const Windows& windows, double fill) {
  Tensor result = pad(x, with_spatial(x.rank(), windows.pads_begin), with_spatial(x.rank(), windows.pads_end), fill);
  for (std::size_t i = 0; i < windows.kernel.size(); ++i) {
    result =
        unfold(result, static_cast<std::int64_t>(2 + i), windows.kernel[i], windows.strides[i], windows.dilations[i]);
  }
  return result;
}

Axes trailing_axes(std::int64_t count) {
  Axes axes;
  for (std::int64_t i = 0; i < count; ++i) axes.push_back(-1 - i);
  return axes;
}

void check_image(const Tensor& x) {
  if (require(x, "x").rank() < 3) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected at least 3 axes, [N, C, spatial...]"));
  }
}

}  // namespace

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

namespace {

struct Pool {
  Windows windows;
  Lengths ceil_extra;  // more padding at the end, from ceil_mode; never counted by an average
};

Pool pool_windows(const Tensor& x, const PoolConfig& config) {
  check_image(x);
  const std::int64_t spatial = x.rank() - 2;
  if (config.kernel.empty()) fail_op("'kernel' is empty; expected one length a spatial axis");
  Pool pool;
  Windows& windows = pool.windows;
  windows.kernel = or_default(config.kernel, spatial, 1, "kernel", 1);
  windows.strides = or_default(config.strides, spatial, 1, "strides", 1);
  windows.pads_begin = or_default(config.pads_begin, spatial, 0, "pads_begin", 0);
  windows.pads_end = or_default(config.pads_end, spatial, 0, "pads_end", 0);
  windows.dilations = or_default(config.dilations, spatial, 1, "dilations", 1);
  pool.ceil_extra.assign(static_cast<std::size_t>(spatial), 0);
  for (std::size_t i = 0; config.ceil_mode && i < windows.kernel.size(); ++i) {
    const std::int64_t length = const_length(x, static_cast<std::int64_t>(2 + i), "since ceil_mode is set");
    const std::int64_t padded = length + windows.pads_begin[i] + windows.pads_end[i];
    const std::int64_t reach = (windows.kernel[i] - 1) * windows.dilations[i] + 1, step = windows.strides[i];
    std::int64_t count = (padded - reach + step - 1) / step + 1;
    // A window that starts in the padding at the end is dropped.
    if ((count - 1) * step >= length + windows.pads_begin[i]) --count;
    pool.ceil_extra[i] = std::max<std::int64_t>(0, (count - 1) * step + reach - padded);
  }
  return pool;
}

void add_extra(Pool& pool) {
  for (std::size_t i = 0; i < pool.ceil_extra.size(); ++i) pool.windows.pads_end[i] += pool.ceil_extra[i];
}

// How many counted elements each window along one spatial axis holds.
std::vector<float> window_counts(const Pool& pool, std::size_t i, std::int64_t length, bool include_pad) {
  const Windows& w = pool.windows;
  const std::int64_t padded = w.pads_begin[i] + length + w.pads_end[i];
  const std::int64_t low = include_pad ? 0 : w.pads_begin[i];
  const std::int64_t high = include_pad ? padded : w.pads_begin[i] + length;
  const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  std::vector<float> counts;
  for (std::int64_t at = 0; at + reach <= padded + pool.ceil_extra[i]; at += w.strides[i]) {
    float count = 0;
    for (std::int64_t k = 0; k < w.kernel[i]; ++k) {
      const std::int64_t position = at + k * w.dilations[i];
      count += position >= low && position < high;
    }
    counts.push_back(count);
  }
  return counts;
}

double lowest(DType dtype) {
  if (dtype == DType::kF8E4M3) return -448;  // has no infinity
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (!is_signed(dtype)) return 0;
  return -std::ldexp(1.0, static_cast<int>(dtype_bytes(dtype)) * 8 - 1);
}

}  // namespace

Tensor max_pool(const Tensor& x, const PoolConfig& config, Loc loc) {
  OpScope scope("max_pool", loc);
  Pool pool = pool_windows(x, config);
  add_extra(pool);
  return reduce_max(unfold_spatial(x, pool.windows, lowest(x.dtype())), trailing_axes(x.rank() - 2));
}

Tensor avg_pool(const Tensor& x_given, const PoolConfig& config, Loc loc) {
  OpScope scope("avg_pool", loc);
  Pool pool = pool_windows(x_given, config);
  const Tensor x = to_float(x_given);
  bool padded = false;
  double whole = 1;
  for (std::size_t i = 0; i < pool.ceil_extra.size(); ++i) {
    padded = padded || pool.ceil_extra[i] > 0 ||
             (!config.count_include_pad && (pool.windows.pads_begin[i] > 0 || pool.windows.pads_end[i] > 0));
    whole *= static_cast<double>(pool.windows.kernel[i]);
  }
  const Pool counted = pool;
  add_extra(pool);
  const Tensor sum = reduce_sum(unfold_spatial(x, pool.windows, 0), trailing_axes(x.rank() - 2));
  if (!padded) return sum / whole;
  Tensor count;
  for (std::size_t i = 0; i < counted.ceil_extra.size(); ++i) {
    const std::int64_t length = const_length(x, static_cast<std::int64_t>(2 + i), "since its padding is averaged");
    const std::vector<float> counts = window_counts(counted, i, length, config.count_include_pad);
    Shape shape(x.shape().size(), Dim(1));
    shape[2 + i] = static_cast<std::int64_t>(counts.size());
    const Tensor along = constant_f32(shape, counts);
    count = count.empty() ? along : count * along;
  }
  return sum / cast_to(count, x.dtype());
}

Tensor global_max_pool(const Tensor& x, Loc loc) {
  OpScope scope("global_max_pool", loc);
  check_image(x);
  return reduce_max(x, trailing_axes(x.rank() - 2), true);
}

Tensor global_avg_pool(const Tensor& x, Loc loc) {
  OpScope scope("global_avg_pool", loc);
  check_image(x);
  return mean(x, trailing_axes(x.rank() - 2), true);
}

}  // namespace hearth::client
