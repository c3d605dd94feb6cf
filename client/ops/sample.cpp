#include "client/ops/sample.h"

#include <limits>

#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/movement.h"
#include "client/ops/reduce.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

DType wide(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

// Integers that hold every position in x.
DType position_dtype(const Tensor& x) {
  return num_elements(x.shape()).max() <= std::numeric_limits<std::int32_t>::max() ? DType::kI32 : DType::kI64;
}

// x [N, C, s...] at batch and one place a spatial axis, in range and broadcasting to [R, P...] -> [R, C, P...].
Tensor at_places(const Tensor& x, const Tensor& batch, const std::vector<Tensor>& places) {
  const DType dtype = position_dtype(x);
  const std::int64_t channels = const_length(x, 1, "since it counts channels");
  std::int64_t stride = 1;
  Tensor place;
  for (std::size_t i = places.size(); i-- > 0;) {
    const Tensor along = cast_to(places[i], dtype) * stride;
    place = place.empty() ? along : place + along;
    stride *= const_length(x, static_cast<std::int64_t>(2 + i), "since it is addressed by element");
  }
  place = unsqueeze(place + cast_to(batch, dtype) * (channels * stride), {1});
  Shape per_channel(place.shape().size(), Dim(1));
  per_channel[1] = channels;
  return gather(reshape(x, {-1}), place + iota(per_channel, 1, dtype) * stride, 0);
}

// Mirrored at low and high as often as needed.
Tensor mirrored(const Tensor& place, double low, double high) {
  const double span = high - low;
  if (span <= 0) return filled(place.shape(), low, place.dtype());
  const Tensor turn = floor_mod(place - low, 2 * span);
  return minimum(turn, 2 * span - turn) + low;
}

// The weight of a neighbour at a distance.
Tensor kernel(SampleMode mode, const Tensor& distance) {
  const Tensor d = abs(distance);
  if (mode == SampleMode::kLinear) return maximum(1.0 - d, 0.0);
  const double a = -0.75;
  const Tensor inner = ((a + 2) * d - (a + 3)) * d * d + 1.0, outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return where(less_equal(d, 1.0), inner, where(less(d, 2.0), outer, 0.0));
}

void check_image(const Tensor& x, std::int64_t spatial) {
  if (require(x, "x").rank() != spatial + 2) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected ", spatial + 2, " axes, [N, C, spatial...]"));
  }
  for (std::int64_t i = 0; i < spatial; ++i) {
    if (const_length(x, 2 + i, "since places in it are computed") < 1) {
      fail_op(str_cat("argument 'x' is ", describe(x), "; expected an element along axis ", 2 + i));
    }
  }
}

const Tensor& require_float(const Tensor& x, std::string_view argument) {
  if (!is_float(require(x, argument).dtype())) {
    fail_op(str_cat("argument '", argument, "' is ", describe(x), "; expected a float dtype"));
  }
  return x;
}

// x [R, C, s...] read at one real place a spatial axis, each [R, P...] -> [R, C, P...] in x's dtype.
Tensor interpolate(const Tensor& x, const std::vector<Tensor>& at_given, const SampleConfig& config) {
  const auto spatial = static_cast<std::int64_t>(at_given.size()), rank = at_given[0].rank() + spatial;
  const DType real = at_given[0].dtype();
  const bool nearest = config.mode == SampleMode::kNearest;
  const std::int64_t count = nearest ? 1 : config.mode == SampleMode::kLinear ? 2 : 4;
  std::vector<Tensor> places;  // [R, P..., neighbours along each spatial axis]
  Tensor weight, inside;
  for (std::int64_t i = 0; i < spatial; ++i) {
    const auto length = static_cast<double>(x.dim(2 + i).value());
    const double low = config.align_corners ? 0 : -0.5, high = length - 1 - low;
    Tensor at = at_given[static_cast<std::size_t>(i)];
    Shape aligned = at.shape(), taps(static_cast<std::size_t>(rank), Dim(1));
    aligned.resize(static_cast<std::size_t>(rank), Dim(1));
    taps[static_cast<std::size_t>(rank - spatial + i)] = count;
    at = reshape_to(nearest ? round(at) : at, aligned);
    if (config.padding == SamplePadding::kBorder) at = clip(at, 0.0, length - 1);
    if (config.padding == SamplePadding::kReflection) at = mirrored(at, low, high);
    // The neighbours' places, in real numbers, which cannot overflow.
    Tensor place = at;
    if (!nearest) {
      place = floor(at) + (iota(taps, rank - spatial + i, real) - static_cast<double>(count / 2 - 1));
      const Tensor share = kernel(config.mode, at - place);
      weight = weight.empty() ? share : weight * share;
    }
    if (config.padding == SamplePadding::kReflection) place = mirrored(place, low, high);
    if (config.padding == SamplePadding::kZeros) {
      const Tensor here = bit_and(greater_equal(place, 0.0), less_equal(place, length - 1));
      inside = inside.empty() ? here : bit_and(inside, here);
    }
    places.push_back(cast_to(clip(round(place), 0.0, length - 1), DType::kI32));
  }
  Shape per_image(static_cast<std::size_t>(rank), Dim(1));
  per_image[0] = x.dim(0);
  Tensor value = at_places(x, iota(per_image, 0, position_dtype(x)), places);
  if (!nearest) value = cast_to(value, real) * unsqueeze(weight, {1});
  // Last, since the weights of infinite places are NaN.
  if (!inside.empty()) value = where(unsqueeze(inside, {1}), value, 0);
  Axes summed;
  for (std::int64_t i = 0; i < spatial; ++i) summed.push_back(-1 - i);
  if (nearest) return squeeze(value, summed);
  return cast_to(reduce_sum(value, summed), x.dtype());
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, const SampleConfig& config, Loc loc) {
  OpScope scope("grid_sample", loc);
  require_float(grid, "grid");
  if (grid.rank() < 3) fail_op(str_cat("argument 'grid' is ", describe(grid), "; expected [N, out..., d]"));
  const std::int64_t spatial = const_length(grid, -1, "since it counts spatial axes");
  check_image(x, spatial);
  if (spatial < 1 || !(grid.dim(0) == x.dim(0))) {
    fail_op(str_cat("'x' is ", describe(x), " and 'grid' is ", describe(grid), "; expected as many images"));
  }
  const DType real = wide(promote(grid.dtype(), to_float(x).dtype()));
  std::vector<Tensor> at;
  for (std::int64_t i = 0; i < spatial; ++i) {
    const auto length = static_cast<double>(x.dim(2 + i).value());
    const double low = config.align_corners ? 0 : -0.5, high = length - 1 - low;
    at.push_back((cast_to(select(grid, -1, spatial - 1 - i), real) + 1.0) * ((high - low) / 2) + low);
  }
  return interpolate(x, at, config);
}

Tensor deform_conv(const Tensor& x, const Tensor& w, const Tensor& offset, const Tensor& b, const Tensor& mask,
                   const ConvConfig& config, std::int64_t offset_groups, Loc loc) {
  OpScope scope("deform_conv", loc);
  require_float(x, "x");
  check_image(x, 2);
  if (require_float(w, "w").rank() != 4) {
    fail_op(str_cat("argument 'w' is ", describe(w), "; expected [C_out, C_in/groups, kernel...]"));
  }
  const Lengths weight = const_shape(w.shape()), strides = or_default(config.strides, 2, 1, "strides", 1),
                begin = or_default(config.pads_begin, 2, 0, "pads_begin", 0),
                end = or_default(config.pads_end, 2, 0, "pads_end", 0),
                dilations = or_default(config.dilations, 2, 1, "dilations", 1);
  const std::int64_t groups = config.groups, taps = weight[2] * weight[3],
                     channels = const_length(x, 1, "since it counts channels");
  if (groups < 1 || offset_groups < 1 || weight[0] % groups != 0 || channels != weight[1] * groups ||
      channels % offset_groups != 0) {
    fail_op(str_cat("'x' is ", describe(x), ", 'w' is ", describe(w), " with ", groups, " groups and ", offset_groups,
                    " offset groups; expected x's channels = w's second length * groups, and divisors"));
  }
  Lengths out;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t space =
        x.dim(static_cast<std::int64_t>(2 + i)).value() + begin[i] + end[i] - (weight[i + 2] - 1) * dilations[i] - 1;
    if (space < 0) fail_op(str_cat("a window is longer than axis ", 2 + i, " of ", describe(x), " with its padding"));
    out.push_back(space / strides[i] + 1);
  }
  const auto check_places = [&](const Tensor& given, std::int64_t count, std::string_view argument) {
    const Shape expected = {x.dim(0), offset_groups * taps * count, out[0], out[1]};
    if (require_float(given, argument).shape() != expected) {
      fail_op(str_cat("argument '", argument, "' is ", describe(given), "; expected the shape ", to_string(expected)));
    }
  };
  check_places(offset, 2, "offset");
  // The channels of an offset group share their places: [N * offset_groups, taps, out...].
  const DType real = wide(x.dtype());
  const Dim images = x.dim(0) * offset_groups;
  const Tensor moves = cast_to(reshape(offset, {images, taps, 2, out[0], out[1]}), real);
  std::vector<Tensor> at;
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto k = static_cast<std::size_t>(i);
    Shape windows = {1, 1, 1, 1};
    windows[k + 2] = out[k];
    const Tensor tap = reshape(arange(taps, DType::kI32), {1, taps, 1, 1});
    const Tensor row = i == 0 ? floor_div(tap, weight[3]) : floor_mod(tap, weight[3]);
    const Tensor place = iota(windows, 2 + i, DType::kI32) * strides[k] - begin[k] + row * dilations[k];
    at.push_back(select(moves, 2, i) + cast_to(place, real));
  }
  const Tensor split = reshape(x, {images, channels / offset_groups, x.dim(2), x.dim(3)});
  Tensor columns = interpolate(split, at, {});
  if (!mask.empty()) {
    check_places(mask, 1, "mask");
    columns = columns * reshape(mask, {images, 1, taps, out[0], out[1]});
  }
  const Dim places = out[0] * out[1];
  columns = reshape(columns, {x.dim(0), groups, weight[1] * taps, places});
  const Tensor weights = reshape(w, {1, groups, weight[0] / groups, weight[1] * taps});
  const Tensor result = reshape(matmul(weights, columns), {x.dim(0), weight[0], out[0], out[1]});
  return b.empty() ? result : result + per_channel(b, 4, "b", weight[0]);
}

Tensor affine_grid(const Tensor& theta, const std::vector<std::int64_t>& lengths, bool align_corners, Loc loc) {
  OpScope scope("affine_grid", loc);
  const auto spatial = static_cast<std::int64_t>(lengths.size());
  require_float(theta, "theta");
  if (spatial < 1 || theta.rank() != 3 || !(theta.dim(1) == Dim(spatial)) || !(theta.dim(2) == Dim(spatial + 1))) {
    fail_op(str_cat("argument 'theta' is ", describe(theta), " for ", spatial, " lengths; expected [N, ", spatial, ", ",
                    spatial + 1, "]"));
  }
  const DType real = wide(theta.dtype());
  Shape shape(lengths.begin(), lengths.end());
  shape.push_back(1);
  std::vector<Tensor> columns;
  for (std::int64_t i = spatial - 1; i >= 0; --i) {
    const std::int64_t length = lengths[static_cast<std::size_t>(i)];
    if (length < 1) fail_op(str_cat("'lengths' holds ", length, "; expected >= 1"));
    const Tensor at = iota(shape, i, real);
    const auto n = static_cast<double>(length);
    if (!align_corners) {
      columns.push_back((at * 2.0 + 1.0) / n - 1.0);
    } else {
      columns.push_back(length == 1 ? filled(shape, 0.0, real) : at * 2.0 / (n - 1) - 1.0);
    }
  }
  columns.push_back(filled(shape, 1.0, real));
  const Tensor places = reshape(cat(columns, -1), {-1, spatial + 1});
  const Tensor grid = matmul(places, transpose(cast_to(theta, real)));
  Shape result = {theta.dim(0)};
  result.insert(result.end(), lengths.begin(), lengths.end());
  result.push_back(spatial);
  return cast_to(reshape(grid, result), theta.dtype());
}

namespace {

void check_roi_config(const RoiConfig& config) {
  if (config.height < 1 || config.width < 1 || config.sampling_ratio < 1) {
    fail_op(str_cat("height ", config.height, ", width ", config.width, ", sampling_ratio ", config.sampling_ratio,
                    "; expected all >= 1"));
  }
}

void check_rois(const Tensor& rois, std::int64_t columns) {
  require_float(rois, "rois");
  if (rois.rank() != 2 || !(rois.dim(1) == Dim(columns))) {
    fail_op(str_cat("argument 'rois' is ", describe(rois), "; expected [R, ", columns, "]"));
  }
}

Tensor clamped_batch(const Tensor& batch, const Tensor& x) {
  return clip(cast_to(batch, DType::kI64), 0, const_length(x, 0, "since regions choose an image") - 1);
}

// Bilinear samples along one axis: where they are read and what they weigh.
struct Line {
  Tensor low, high;                // places, real numbers
  Tensor low_weight, high_weight;  // both 0 more than one pixel outside
};

Line sample_line(const Tensor& at, std::int64_t length) {
  const auto last = static_cast<double>(length - 1);
  const Tensor outside = bit_or(less(at, -1.0), greater(at, last + 1));
  const Tensor inner = clip(at, 0.0, last), low = floor(inner), share = inner - low;
  return {low, minimum(low + 1.0, last), where(outside, 0.0, 1.0 - share), where(outside, 0.0, share)};
}

}  // namespace

Tensor roi_align(const Tensor& x, const Tensor& rois, const Tensor& batch, const RoiConfig& config, Loc loc) {
  OpScope scope("roi_align", loc);
  require_float(x, "x");
  check_image(x, 2);
  check_rois(rois, 4);
  check_roi_config(config);
  if (require_integer(batch, "batch").rank() != 1 || !(batch.dim(0) == rois.dim(0))) {
    fail_op(str_cat("argument 'batch' is ", describe(batch), " for ", describe(rois), "; expected one image a region"));
  }
  const DType real = wide(x.dtype());
  const Tensor regions = cast_to(rois, real) * config.spatial_scale - (config.half_pixel ? 0.5 : 0.0);
  const std::int64_t samples = config.sampling_ratio;
  // [R, height * samples, width * samples], from the axes' own lines.
  const auto line = [&](std::int64_t column, std::int64_t bins, std::int64_t axis) {
    const Tensor begin = select(regions, 1, column);
    Tensor extent = select(regions, 1, column + 2) - begin;
    if (!config.half_pixel) extent = maximum(extent, 1.0);
    Shape shape(3, Dim(1)), per_region = {rois.dim(0), 1, 1};
    shape[static_cast<std::size_t>(axis)] = bins * samples;
    const Tensor at = (iota(shape, axis, real) + 0.5) / static_cast<double>(bins * samples);
    return sample_line(reshape_to(begin, per_region) + reshape_to(extent, per_region) * at, x.dim(axis + 1).value());
  };
  const Line rows = line(1, config.height, 1), columns = line(0, config.width, 2);
  const Tensor image = reshape_to(clamped_batch(batch, x), {rois.dim(0), 1, 1});
  Tensor sum;
  for (const auto& [row, row_weight] : {std::pair(rows.low, rows.low_weight), std::pair(rows.high, rows.high_weight)}) {
    for (const auto& [column, column_weight] :
         {std::pair(columns.low, columns.low_weight), std::pair(columns.high, columns.high_weight)}) {
      const Tensor value = cast_to(at_places(x, image, {row, column}), real);
      const Tensor part = value * unsqueeze(row_weight * column_weight, {1});
      sum = sum.empty() ? part : sum + part;
    }
  }
  const Tensor bins = reshape(sum, {rois.dim(0), x.dim(1), config.height, samples, config.width, samples});
  return cast_to(mean(bins, {3, 5}), x.dtype());
}

Tensor max_roi_pool(const Tensor& x, const Tensor& rois, const RoiConfig& config, Loc loc) {
  OpScope scope("max_roi_pool", loc);
  require_float(x, "x");
  check_image(x, 2);
  check_rois(rois, 5);
  check_roi_config(config);
  const DType real = wide(rois.dtype());
  const Tensor scaled = cast_to(slice(rois, {{.axis = 1, .begin = 1}}), real) * config.spatial_scale;
  // Half away from zero.
  const Tensor corners = where(less(scaled, 0.0), ceil(scaled - 0.5), floor(scaled + 0.5));
  const double lowest = -std::numeric_limits<double>::infinity();
  Tensor value = gather(x, clamped_batch(select(rois, 1, 0), x), 0), filled_bins;
  // The widths' maxima first, then the heights': [R, C, H, W] -> [R, C, H, width] -> [R, C, height, width].
  for (const std::int64_t axis : {3, 2}) {
    const std::int64_t column = axis == 3 ? 0 : 1, bins = axis == 3 ? config.width : config.height;
    const Tensor begin = reshape_to(select(corners, 1, column), {rois.dim(0), 1});
    const Tensor extent = maximum(reshape_to(select(corners, 1, column + 2), {rois.dim(0), 1}) - begin + 1.0, 1.0);
    const Tensor bin = extent / static_cast<double>(bins), at = iota({1, bins}, 1, real);
    const Dim length = x.dim(axis);
    const Tensor first = unsqueeze(floor(at * bin) + begin, {2}), end = unsqueeze(ceil((at + 1.0) * bin) + begin, {2});
    const Tensor place = iota({1, 1, length}, 2, real);
    const Tensor inside = bit_and(less_equal(first, place), less(place, end));  // [R, bins, length]
    const bool columns = axis == 3;
    const Tensor mask = unsqueeze(inside, columns ? Axes{1, 2} : Axes{1, 4});
    value = reduce_max(where(mask, unsqueeze(value, {columns ? 3 : 2}), lowest), {columns ? 4 : 3});
    const Tensor some = unsqueeze(any(inside, {2}), columns ? Axes{1, 2} : Axes{1, 3});
    filled_bins = filled_bins.empty() ? some : bit_and(filled_bins, some);
  }
  return where(filled_bins, value, 0.0);
}

}  // namespace hearth::client
