#include "client/ops/interpolate.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr double kMaxNeighbours = 16;  // that are added one by one

// Integers that hold every position in x.
DType position_dtype(const Tensor& x) {
  return num_elements(x.shape()).max() <= std::numeric_limits<std::int32_t>::max() ? DType::kI32 : DType::kI64;
}

// Mirrored at low and high as often as needed.
Tensor mirrored(const Tensor& place, double low, double high) {
  const double span = high - low;
  if (span <= 0) return filled(place.shape(), low, place.dtype());
  const Tensor along = place - low;
  const Tensor turn = along - floor(along / (2 * span)) * (2 * span);
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

// Positions in x's elements of places in the first channel: [R, P...].
Tensor first_channel(const Tensor& x, const Tensor& batch, const std::vector<Tensor>& places) {
  const DType dtype = position_dtype(x);
  std::int64_t stride = 1;
  Tensor place;
  for (std::size_t i = places.size(); i-- > 0;) {
    const Tensor along = cast_to(places[i], dtype) * stride;
    place = place.empty() ? along : place + along;
    stride *= const_length(x, static_cast<std::int64_t>(2 + i), "since it is addressed by element");
  }
  return place + cast_to(batch, dtype) * (const_length(x, 1, "since it counts channels") * stride);
}

// x's elements there in every channel: [R, C, P...].
Tensor of_channels(const Tensor& x, const Tensor& first) {
  const std::int64_t channels = x.dim(1).value();
  std::int64_t stride = 1;
  for (std::int64_t i = 2; i < x.rank(); ++i) stride *= x.dim(i).value();
  const Tensor place = unsqueeze(first, {1});
  Shape per_channel(place.shape().size(), Dim(1));
  per_channel[1] = channels;
  return gather(reshape(x, {-1}), place + iota(per_channel, 1, first.dtype()) * stride, 0);
}

// Neighbours that all channels share: their places and weights [R, P..., one axis of neighbours for each spatial one]
// are computed once and stored a neighbour at a time, so that vectors run along the places.
Tensor weighted_sum(const Tensor& x, const Tensor& first, const Tensor& weight, const Tensor& inside,
                    std::int64_t spatial) {
  const std::int64_t points = first.rank() - spatial;
  std::int64_t neighbours = 1;
  Axes order;
  Shape shape = {Dim(1)};
  for (std::int64_t i = 0; i < spatial; ++i) {
    order.push_back(points + i);
    neighbours *= first.dim(points + i).value();
  }
  for (std::int64_t i = 0; i < points; ++i) {
    order.push_back(i);
    shape.push_back(first.dim(i));
  }
  shape[0] = neighbours;
  const auto stored = [&](const Tensor& of_neighbours) {
    return contiguous(reshape_to(permute(expand_to(of_neighbours, first.shape()), order), shape));
  };
  const Tensor places = stored(first), weights = stored(weight), is_inside = inside.empty() ? inside : stored(inside);
  Tensor sum;
  for (std::int64_t i = 0; i < neighbours; ++i) {
    const Tensor value = cast_to(of_channels(x, select(places, 0, i)), weight.dtype());
    Tensor share = value * unsqueeze(select(weights, 0, i), {1});
    // Last, since the weights of infinite places are NaN.
    if (!inside.empty()) share = where(unsqueeze(select(is_inside, 0, i), {1}), share, 0);
    sum = sum.empty() ? share : sum + share;
  }
  return cast_to(sum, x.dtype());
}

}  // namespace

void check_sampled(const Tensor& x, std::int64_t spatial) {
  if (require(x, "x").rank() != spatial + 2) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected ", spatial + 2, " axes, [N, C, spatial...]"));
  }
  for (std::int64_t i = 0; i < spatial; ++i) {
    if (const_length(x, 2 + i, "since places in it are computed") < 1) {
      fail_op(str_cat("argument 'x' is ", describe(x), "; expected an element along axis ", 2 + i));
    }
  }
}

Tensor at_places(const Tensor& x, const Tensor& batch, const std::vector<Tensor>& places) {
  return of_channels(x, first_channel(x, batch, places));
}

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
    // A cubic kernel has each neighbour moved to the border, not the place whose distances weigh them (as PyTorch).
    const bool is_cubic = config.mode == SampleMode::kCubic;
    if (config.padding == SamplePadding::kBorder && !is_cubic) at = clip(at, 0.0, length - 1);
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
  const Tensor first = first_channel(x, iota(per_image, 0, position_dtype(x)), places);
  const bool shares = x.dim(1).max() > 1 && std::pow(count, spatial) <= kMaxNeighbours;
  if (!nearest && shares) return weighted_sum(x, first, weight, inside, spatial);
  Tensor value = of_channels(x, first);
  if (!nearest) value = cast_to(value, real) * unsqueeze(weight, {1});
  // Last, since the weights of infinite places are NaN.
  if (!inside.empty()) value = where(unsqueeze(inside, {1}), value, 0);
  Axes summed;
  for (std::int64_t i = 0; i < spatial; ++i) summed.push_back(-1 - i);
  if (nearest) return squeeze(value, summed);
  return cast_to(reduce_sum(value, summed), x.dtype());
}

}  // namespace hearth::client
