#include "hearth/ops/regions.h"

#include <limits>
#include <utility>

#include "base/text.h"
#include "client/ops/interpolate.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
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
  check_sampled(x, 2);
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
  check_sampled(x, 2);
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
