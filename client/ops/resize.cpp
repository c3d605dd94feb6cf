#include "hearth/ops/resize.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr double kMaxTaps = 1 << 26;  // a table of them travels with the graph
constexpr double kMaxTimes = 64;      // that a length which is not known is stretched
constexpr std::int64_t kSample = 32;  // an axis whose middle no neighbour's kernel leaves

// What the results along one axis are made of: `count` neighbours each.
struct Taps {
  std::int64_t count = 1;
  std::vector<std::int64_t> index;  // [length, count]
  std::vector<double> weight;       // likewise
  std::vector<bool> outside;        // [length]: beyond the input, for kTfCropAndResize
};

double position(std::int64_t i, std::int64_t from, const ResizeAxis& to, const ResizeConfig& config) {
  const double at = static_cast<double>(i), n = static_cast<double>(from);
  const double resized = to.scale * n;  // not rounded to a whole length, as in ONNX's reference
  switch (config.coordinates) {
    case ResizeCoordinates::kHalfPixel:
      return (at + 0.5) / to.scale - 0.5;
    case ResizeCoordinates::kHalfPixelSymmetric:
      return n / 2 * (1 - static_cast<double>(to.length) / resized) + (at + 0.5) / to.scale - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel:
      return to.length > 1 ? (at + 0.5) / to.scale - 0.5 : 0;
    case ResizeCoordinates::kAlignCorners:
      return to.length > 1 ? at * (n - 1) / (resized - 1) : 0;
    case ResizeCoordinates::kAsymmetric:
      return at / to.scale;
    case ResizeCoordinates::kTfHalfPixelForNn:
      return (at + 0.5) / to.scale;
    case ResizeCoordinates::kTfCropAndResize:
      if (to.length == 1) return (to.crop_begin + to.crop_end) * (n - 1) / 2;
      return (to.crop_begin + at * (to.crop_end - to.crop_begin) / static_cast<double>(to.length - 1)) * (n - 1);
  }
  return 0;
}

double nearest(double at, NearestMode mode) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      return std::ceil(at - 0.5);
    case NearestMode::kRoundPreferCeil:
      return std::floor(at + 0.5);
    case NearestMode::kFloor:
      return std::floor(at);
    case NearestMode::kCeil:
      return std::ceil(at);
  }
  return at;
}

Taps make_taps(std::int64_t from, const ResizeAxis& to, const ResizeConfig& config) {
  const bool interpolates = config.mode != ResizeMode::kNearest;
  // Neighbours within `reach` of a position count; the kernel is stretched by 1 / shrink.
  const double shrink = interpolates && config.antialias ? std::min(to.scale, 1.0) : 1.0;
  const double reach = (config.mode == ResizeMode::kCubic ? 2 : 1) / shrink;
  if (reach * 2 * static_cast<double>(to.length) > kMaxTaps) {
    fail_op(str_cat("axis ", to.axis, " resized to length ", to.length, " with the scale ", to.scale, " needs ",
                    reach * 2, " neighbours a place; expected less than 2^26 in all"));
  }
  const auto first = interpolates ? static_cast<std::int64_t>(std::floor(-reach)) + 1 : 0;
  Taps taps;
  taps.count = interpolates ? 2 - 2 * first : 1;
  for (std::int64_t i = 0; i < to.length; ++i) {
    const double at = position(i, from, to, config);
    const double base = interpolates ? std::floor(at) : nearest(at, config.nearest);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const double place = base + static_cast<double>(first + k), distance = std::fabs(place - at) * shrink;
      const bool inside = place >= 0 && place <= static_cast<double>(from - 1);
      double weight = 1;
      if (config.mode == ResizeMode::kLinear) weight = std::max(0.0, 1 - distance);
      if (config.mode == ResizeMode::kCubic) weight = cubic_weight(distance, config.cubic_a);
      if (interpolates && config.exclude_outside && !inside) weight = 0;
      taps.index.push_back(static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(from - 1))));
      weights.push_back(weight);
      sum += weight;
    }
    const bool normalise = interpolates && (config.exclude_outside || config.antialias) && sum != 0;
    for (double weight : weights) taps.weight.push_back(normalise ? weight / sum : weight);
    taps.outside.push_back(config.coordinates == ResizeCoordinates::kTfCropAndResize &&
                           (at < 0 || at > static_cast<double>(from - 1)));
  }
  return taps;
}

// Without the neighbours that never count.
Taps without_idle(const Taps& all, std::int64_t length) {
  std::vector<std::int64_t> used;
  for (std::int64_t k = 0; k < all.count; ++k) {
    bool counts = false;
    for (std::int64_t i = 0; i < length; ++i) counts |= all.weight[static_cast<std::size_t>(i * all.count + k)] != 0;
    if (counts || (used.empty() && k + 1 == all.count)) used.push_back(k);
  }
  Taps taps;
  taps.count = static_cast<std::int64_t>(used.size());
  taps.outside = all.outside;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t k : used) {
      taps.index.push_back(all.index[static_cast<std::size_t>(i * all.count + k)]);
      taps.weight.push_back(all.weight[static_cast<std::size_t>(i * all.count + k)]);
    }
  }
  return taps;
}

// Each place of the result is one element of x.
Tensor pick(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& index) {
  const std::int64_t from = x.dim(axis).value(), length = static_cast<std::int64_t>(index.size());
  // Whole repeats need no table of indices.
  const std::int64_t repeats = length / from;
  bool regular = length % from == 0;
  for (std::int64_t i = 0; regular && i < length; ++i) regular = index[static_cast<std::size_t>(i)] == i / repeats;
  if (regular) return repeats == 1 ? x : repeat_interleave(x, repeats, axis);
  return gather(x, constant_i64({length}, index), axis);
}

Tensor resize_axis(const Tensor& x, std::int64_t axis, std::int64_t length, const Taps& taps) {
  const bool plain = std::all_of(taps.weight.begin(), taps.weight.end(), [](double weight) { return weight == 1; });
  if (taps.count == 1 && plain) return pick(x, axis, taps.index);
  const Tensor neighbours = gather(x, constant_i64({length, taps.count}, taps.index), axis);
  Shape shape(neighbours.shape().size(), Dim(1));
  shape[static_cast<std::size_t>(axis)] = length;
  shape[static_cast<std::size_t>(axis) + 1] = taps.count;
  return reduce_sum(neighbours * real_constant(shape, taps.weight, x.dtype()), {axis + 1});
}

// A length that is not known, times a whole number: results between two neighbours are made the same way everywhere, as
// they are in the middle of an axis of some length; beyond the ends the edge is repeated.
Tensor stretched(const Tensor& x, const ResizeAxis& to, const ResizeConfig& config) {
  const Dim length = x.dim(to.axis);
  const auto times = static_cast<std::int64_t>(to.scale);
  const bool is_whole = to.scale >= 1 && to.scale <= kMaxTimes && static_cast<double>(times) == to.scale;
  const bool repeats = config.coordinates != ResizeCoordinates::kAlignCorners &&
                       config.coordinates != ResizeCoordinates::kTfCropAndResize && !config.exclude_outside;
  if (!is_whole || !repeats || length.min() < 1) {
    fail_op(
        str_cat("axis ", to.axis, " of the symbolic length ", length.to_string(), " is resized by ", to.scale,
                "; expected a whole number, places that do not depend on the length (half_pixel, asymmetric) and no "
                "empty axis: give the length a number otherwise"));
  }
  if (times == 1) return x;
  const ResizeAxis sample{to.axis, kSample * times, to.scale};
  const Taps taps = without_idle(make_taps(kSample, sample, config), sample.length);
  const std::int64_t middle = kSample / 2;
  std::int64_t reach = 0;
  for (std::int64_t i = middle * times * taps.count; i < (middle + 1) * times * taps.count; ++i)
    reach = std::max(reach, std::abs(taps.index[static_cast<std::size_t>(i)] - middle));
  Axes border(static_cast<std::size_t>(x.rank()), 0);
  border[static_cast<std::size_t>(to.axis)] = reach;
  const Tensor around = reach == 0 ? x : pad_edge(x, border, border);
  std::vector<Tensor> phases;
  for (std::int64_t phase = 0; phase < times; ++phase) {
    Tensor sum;
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const auto i = static_cast<std::size_t>((middle * times + phase) * taps.count + k);
      if (taps.weight[i] == 0) continue;
      Shape begin(static_cast<std::size_t>(x.rank()), Dim(0)), end = around.shape();
      begin[static_cast<std::size_t>(to.axis)] = taps.index[i] - middle + reach;
      end[static_cast<std::size_t>(to.axis)] = length + (taps.index[i] - middle + reach);
      Tensor part = shrink(around, begin, end);
      if (taps.weight[i] != 1) part = part * taps.weight[i];
      sum = sum.empty() ? part : sum + part;
    }
    phases.push_back(sum);
  }
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(to.axis)] = length * times;
  if (reach == 0 && taps.count == 1) return repeat_interleave(x, times, to.axis);
  return reshape(stack(phases, to.axis + 1), shape);
}

void check_axis(const ResizeAxis& to, std::int64_t from) {
  if (from < 1) fail_op(str_cat("axis ", to.axis, " is empty; expected an element to resize"));
  if (to.length < 1) fail_op(str_cat("axis ", to.axis, " is resized to length ", to.length, "; expected >= 1"));
  if (!(to.scale >= 0) || std::isinf(to.scale)) {
    fail_op(str_cat("axis ", to.axis, " has the scale ", to.scale, "; expected a positive number, or 0 for none"));
  }
}

}  // namespace

double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Tensor resize(const Tensor& x, const std::vector<ResizeAxis>& axes, const ResizeConfig& config, Loc loc) {
  OpScope scope("resize", loc);
  const std::int64_t rank = require(x, "x").rank();
  Axes given;
  for (const ResizeAxis& to : axes) given.push_back(to.axis);
  normal_axes(given, rank);  // range and uniqueness
  Tensor value = x, outside;
  if (config.mode != ResizeMode::kNearest) value = cast_to(x, wide(x.dtype()));
  for (ResizeAxis to : axes) {
    to.axis = normal_axis(to.axis, rank);
    if (!value.dim(to.axis).is_const()) {
      value = stretched(value, to, config);
      continue;
    }
    const std::int64_t from = const_length(x, to.axis, "since it is resized");
    check_axis(to, from);
    if (to.scale == 0) to.scale = static_cast<double>(to.length) / static_cast<double>(from);
    const Taps taps = without_idle(make_taps(from, to, config), to.length);
    value = resize_axis(value, to.axis, to.length, taps);
    if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) continue;
    Shape shape(static_cast<std::size_t>(rank), Dim(1));
    shape[static_cast<std::size_t>(to.axis)] = to.length;
    const Tensor here = constant(shape, DType::kBool, std::string(taps.outside.begin(), taps.outside.end()));
    outside = outside.empty() ? here : bit_or(outside, here);
  }
  if (!outside.empty()) value = where(outside, config.extrapolation, value);
  return cast_to(value, x.dtype());
}

}  // namespace hearth::client
