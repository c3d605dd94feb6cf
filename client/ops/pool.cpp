#include "hearth/ops/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
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
    const std::int64_t reach = (windows.kernel[i] - 1) * windows.dilations[i] + 1, step = windows.strides[i];
    // Where no window can start in the padding at the end, one more step of it is all that rounding up means.
    const bool starts_inside = reach > windows.pads_end[i] + step - 1;
    if (!x.dim(static_cast<std::int64_t>(2 + i)).is_const() && starts_inside) {
      pool.ceil_extra[i] = step - 1;
      continue;
    }
    const std::int64_t length = const_length(x, static_cast<std::int64_t>(2 + i), "since ceil_mode is set");
    const std::int64_t padded = length + windows.pads_begin[i] + windows.pads_end[i];
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

// From this many elements a window is reduced along one axis after the other: 13 x 13 is 26 reads instead of 169, for
// one more tensor that is stored.
constexpr std::int64_t kManyElements = 16;

// reduce(all windows of x), windows beyond x's ends holding `fill`, with which the reduction changes nothing.
template <class Reduce>
Tensor over_windows(const Tensor& x, const Windows& windows, double fill, Reduce reduce) {
  const std::size_t spatial = windows.kernel.size();
  std::int64_t elements = 1;
  for (std::int64_t length : windows.kernel) elements *= length;
  const bool is_one_axis = std::ranges::find(windows.kernel, elements) != windows.kernel.end();
  if (is_one_axis || elements < kManyElements)
    return reduce(unfold_spatial(x, windows, fill), trailing_axes(static_cast<std::int64_t>(spatial)));
  Tensor result = x;
  for (std::size_t i = spatial; i-- > 0;) {
    const Lengths ones(spatial, 1), zeros(spatial, 0);
    Windows along = {ones, ones, zeros, zeros, ones};
    along.kernel[i] = windows.kernel[i];
    along.strides[i] = windows.strides[i];
    along.pads_begin[i] = windows.pads_begin[i];
    along.pads_end[i] = windows.pads_end[i];
    along.dilations[i] = windows.dilations[i];
    result = reduce(unfold_spatial(result, along, fill), trailing_axes(static_cast<std::int64_t>(spatial)));
  }
  return result;
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
  return over_windows(x, pool.windows, lowest(x.dtype()),
                      [](const Tensor& windows, const Axes& taps) { return reduce_max(windows, taps); });
}

namespace {

std::int64_t product_of(const Lengths& lengths, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= lengths[i];
  return product;
}

Lengths spatial_lengths(const Tensor& x) {
  Lengths lengths;
  for (std::int64_t i = 2; i < x.rank(); ++i) lengths.push_back(const_length(x, i, "since positions are counted"));
  return lengths;
}

// [N, C, 1, ...] of `rank` axes: the number of the plane, image by image, times `size`.
Tensor plane_offset(const Tensor& x, std::int64_t rank, std::int64_t size) {
  Shape images(static_cast<std::size_t>(rank), Dim(1)), channels = images;
  images[0] = x.dim(0);
  channels[1] = x.dim(1);
  const std::int64_t count = const_length(x, 1, "since it counts channels");
  return (iota(images, 0, DType::kI64) * count + iota(channels, 1, DType::kI64)) * size;
}

}  // namespace

MaxPoolResult max_pool_with_indices(const Tensor& x, const PoolConfig& config, bool column_major, Loc loc) {
  OpScope scope("max_pool_with_indices", loc);
  Pool pool = pool_windows(x, config);
  add_extra(pool);
  const Windows& w = pool.windows;
  const Lengths lengths = spatial_lengths(x);
  const Axes taps = trailing_axes(x.rank() - 2);
  const Tensor elements = unfold_spatial(x, w, lowest(x.dtype()));
  const Tensor best = reduce_max(elements, taps, true);
  // Padding may equal the greatest element and is no position. What is not less is equal, or NaN.
  Shape one_plane = x.shape();
  one_plane[0] = one_plane[1] = 1;
  const Tensor inside = unfold_spatial(filled(one_plane, std::int64_t{1}, DType::kBool), w, 0);
  const Tensor hit = bit_and(logical_not(less(elements, best)), inside);
  const std::int64_t count = product_of(w.kernel, 0, w.kernel.size());
  Shape kernel(static_cast<std::size_t>(x.rank()), Dim(1));
  kernel.insert(kernel.end(), w.kernel.begin(), w.kernel.end());
  const Tensor order = reshape_to(arange(count, DType::kI32), kernel);
  const Tensor first = reduce_min(where(hit, order, count - 1), taps);
  Tensor index = plane_offset(x, x.rank(), product_of(lengths, 0, lengths.size()));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t inner = product_of(w.kernel, i + 1, w.kernel.size());
    const std::int64_t step = column_major ? product_of(lengths, 0, i) : product_of(lengths, i + 1, lengths.size());
    Shape windows(first.shape().size(), Dim(1));
    windows[2 + i] = first.dim(static_cast<std::int64_t>(2 + i));
    const Tensor begin = iota(windows, static_cast<std::int64_t>(2 + i), DType::kI64) * w.strides[i] - w.pads_begin[i];
    const Tensor tap = cast_to(floor_mod(floor_div(first, inner), w.kernel[i]), DType::kI64);
    index = index + (begin + tap * w.dilations[i]) * step;
  }
  return {squeeze(best, taps), index};
}

Tensor max_unpool(const Tensor& x, const Tensor& indices, const Lengths& lengths, Loc loc) {
  OpScope scope("max_unpool", loc);
  check_image(x);
  require_integer(indices, "indices");
  if (indices.shape() != x.shape()) {
    fail_op(str_cat("'x' is ", describe(x), " and 'indices' is ", describe(indices), "; expected the same shape"));
  }
  if (lengths.empty()) fail_op("'lengths' is empty; expected one length a spatial axis");
  or_default(lengths, x.rank() - 2, 1, "lengths", 1);
  Dim size = 1;  // overflow is an error
  for (std::int64_t length : lengths) size = size * length;
  const Lengths from = spatial_lengths(x);
  const std::int64_t count = product_of(from, 0, from.size());
  // [N, C, result, x]: which element of x stands at each place of the result.
  const Shape elements = {x.dim(0), x.dim(1), 1, count};
  const Tensor place = reshape_to(cast_to(indices, DType::kI64), elements) - plane_offset(x, 4, size.value());
  const Tensor here = equal(place, iota({1, 1, size, 1}, 2, DType::kI64));
  const Tensor greatest = reduce_max(where(here, reshape_to(x, elements), lowest(x.dtype())), {3});
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), lengths.begin(), lengths.end());
  return reshape_to(where(any(here, {3}), greatest, 0), shape);
}

Tensor lp_pool(const Tensor& x, double p, const PoolConfig& config, Loc loc) {
  OpScope scope("lp_pool", loc);
  Pool pool = pool_windows(x, config);
  add_extra(pool);
  return lp_norm(unfold_spatial(to_float(x), pool.windows, 0), p, trailing_axes(x.rank() - 2), false);
}

Tensor global_lp_pool(const Tensor& x, double p, Loc loc) {
  OpScope scope("global_lp_pool", loc);
  check_image(x);
  return lp_norm(to_float(x), p, trailing_axes(x.rank() - 2), true);
}

// window_counts of a length that is not known: [1, 1, 1.., windows, ..1].
static Tensor counted_windows(const Pool& pool, std::size_t i, const Dim& length, bool include_pad) {
  const std::size_t spatial = pool.windows.kernel.size();
  const Lengths ones(spatial, 1), zeros(spatial, 0);
  Windows along = {ones, ones, zeros, zeros, ones};
  along.kernel[i] = pool.windows.kernel[i];
  along.strides[i] = pool.windows.strides[i];
  along.dilations[i] = pool.windows.dilations[i];
  along.pads_end[i] = pool.ceil_extra[i];
  Shape shape(spatial + 2, Dim(1)), before(spatial + 2, Dim(0)), after = before;
  shape[2 + i] = length;
  before[2 + i] = pool.windows.pads_begin[i], after[2 + i] = pool.windows.pads_end[i];
  const Tensor counts = pad(full(shape, 1, DType::kF32), before, after, include_pad ? 1 : 0);
  return reduce_sum(unfold_spatial(counts, along, 0), trailing_axes(static_cast<std::int64_t>(spatial)));
}

Tensor avg_pool(const Tensor& x_given, const PoolConfig& config, Loc loc) {
  OpScope scope("avg_pool", loc);
  Pool pool = pool_windows(x_given, config);
  const Tensor x = to_wide(x_given);
  bool padded = false;
  double whole = 1;
  for (std::size_t i = 0; i < pool.ceil_extra.size(); ++i) {
    padded = padded || pool.ceil_extra[i] > 0 ||
             (!config.count_include_pad && (pool.windows.pads_begin[i] > 0 || pool.windows.pads_end[i] > 0));
    whole *= static_cast<double>(pool.windows.kernel[i]);
  }
  const Pool counted = pool;
  add_extra(pool);
  const auto total = [](const Tensor& windows, const Axes& taps) { return reduce_sum(windows, taps); };
  const Tensor sum = over_windows(x, pool.windows, 0, total);
  if (!padded) return cast_to(sum / whole, float_dtype(x_given));
  Tensor count;
  for (std::size_t i = 0; i < counted.ceil_extra.size(); ++i) {
    const Dim length = x.dim(static_cast<std::int64_t>(2 + i));
    Tensor along;
    if (length.is_const()) {
      const std::vector<float> counts = window_counts(counted, i, length.value(), config.count_include_pad);
      Shape shape(x.shape().size(), Dim(1));
      shape[2 + i] = static_cast<std::int64_t>(counts.size());
      along = constant_f32(shape, counts);
    } else {
      along = counted_windows(counted, i, length, config.count_include_pad);
    }
    count = count.empty() ? along : count * along;
  }
  return cast_to(sum / cast_to(count, x.dtype()), float_dtype(x_given));
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
