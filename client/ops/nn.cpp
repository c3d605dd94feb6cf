#include "hearth/ops/nn.h"

#include <algorithm>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

Axes axes_from(const Tensor& x, std::int64_t axis) {
  Axes axes;
  for (std::int64_t i = normal_axis(axis, x.rank()); i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

Tensor normalise(const Tensor& x, const Axes& axes, double epsilon) {
  const Tensor centred = x - mean(x, axes, true);
  return centred * (1.0 / sqrt(mean(square(centred), axes, true) + epsilon));
}

// x in a wide dtype, scaled and shifted in it.
Tensor affine(const Tensor& x, const Tensor& scale, const Tensor& bias) {
  const Tensor result = scale.empty() ? x : x * cast_to(scale, x.dtype());
  return bias.empty() ? result : result + cast_to(bias, x.dtype());
}

Tensor channels_or_none(const Tensor& vector, const Tensor& x, std::string_view argument) {
  return vector.empty() ? vector : per_channel(vector, x.rank(), argument, x.dim(1));
}

void check_channels(const Tensor& x) {
  if (require(x, "x").rank() < 2) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected at least 2 axes, [N, C, ...]"));
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t axis, double epsilon,
                  Loc loc) {
  OpScope scope("layer_norm", loc);
  return in_full_width(
      x, [&](const Tensor& value) { return affine(normalise(value, axes_from(value, axis), epsilon), scale, bias); });
}

Tensor rms_norm(const Tensor& x, const Tensor& scale, std::int64_t axis, double epsilon, Loc loc) {
  OpScope scope("rms_norm", loc);
  return in_full_width(x, [&](const Tensor& value) {
    return affine(value * (1.0 / sqrt(mean(square(value), axes_from(value, axis), true) + epsilon)), scale, {});
  });
}

Tensor batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean_given,
                  const Tensor& variance_given, double epsilon, Loc loc) {
  OpScope scope("batch_norm", loc);
  check_channels(x);
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor centre = cast_to(per_channel(mean_given, x.rank(), "mean", x.dim(1)), value.dtype());
    const Tensor spread = cast_to(per_channel(variance_given, x.rank(), "variance", x.dim(1)), value.dtype());
    const Tensor deviation = sqrt(spread + epsilon);
    const Tensor normal = (value - centre) / deviation;
    return affine(normal, channels_or_none(scale, x, "scale"), channels_or_none(bias, x, "bias"));
  });
}

BatchNormResult batch_norm_training(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon, Loc loc) {
  OpScope scope("batch_norm_training", loc);
  check_channels(x);
  Axes axes = {0};
  for (std::int64_t i = 2; i < x.rank(); ++i) axes.push_back(i);
  const Tensor value = to_wide(x), centre = mean(value, axes), spread = variance(value, axes);
  return {batch_norm(x, scale, bias, centre, spread, epsilon), centre, spread};
}

Tensor mean_variance_norm(const Tensor& x, const Axes& axes, double epsilon, Loc loc) {
  OpScope scope("mean_variance_norm", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor centred = value - mean(value, axes, true);
    return centred / (sqrt(mean(square(centred), axes, true)) + epsilon);
  });
}

Tensor lp_normalize(const Tensor& x, std::int64_t axis, double p, Loc loc) {
  OpScope scope("lp_normalize", loc);
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor norm = lp_norm(value, p, {axis}, true);
    return where(equal(norm, 0.0), 0.0, value / norm);
  });
}

Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha, double beta, double bias, Loc loc) {
  OpScope scope("local_response_norm", loc);
  check_channels(x);
  if (size < 1) fail_op(str_cat("size is ", size, "; expected at least 1"));
  return in_full_width(x, [&](const Tensor& value) {
    Shape before(value.shape().size(), Dim(0)), after = before;
    before[1] = (size - 1) / 2;
    after[1] = size - 1 - (size - 1) / 2;
    const Tensor sum = reduce_sum(unfold(pad(square(value), before, after), 1, size), {-1});
    return value / pow(sum * (alpha / static_cast<double>(size)) + bias, beta);
  });
}

Tensor instance_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon, Loc loc) {
  OpScope scope("instance_norm", loc);
  check_channels(x);
  return in_full_width(x, [&](const Tensor& value) {
    return affine(normalise(value, axes_from(x, 2), epsilon), channels_or_none(scale, x, "scale"),
                  channels_or_none(bias, x, "bias"));
  });
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& scale, const Tensor& bias, double epsilon,
                  Loc loc) {
  OpScope scope("group_norm", loc);
  check_channels(x);
  const std::int64_t channels = const_length(x, 1, "since it counts channels");
  if (groups < 1 || channels % groups != 0) {
    fail_op(str_cat("groups is ", groups, " for ", describe(x), "; expected a divisor of ", channels));
  }
  return in_full_width(x, [&](const Tensor& value) {
    const Tensor grouped = reshape(value, {x.dim(0), groups, -1});
    return affine(reshape_to(normalise(grouped, {2}, epsilon), x.shape()), channels_or_none(scale, x, "scale"),
                  channels_or_none(bias, x, "bias"));
  });
}

}  // namespace hearth::client
