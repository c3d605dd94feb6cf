#include "hearth/ops/deform_conv.h"

#include "base/text.h"
#include "client/ops/interpolate.h"
#include "client/ops/support.h"
#include "client/ops/windows.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"

namespace hearth::client {

Tensor deform_conv(const Tensor& x, const Tensor& w, const Tensor& offset, const Tensor& b, const Tensor& mask,
                   const ConvConfig& config, std::int64_t offset_groups, Loc loc) {
  OpScope scope("deform_conv", loc);
  require_float(x, "x");
  check_sampled(x, 2);
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
  const Tensor split = reshape(cast_to(x, real), {images, channels / offset_groups, x.dim(2), x.dim(3)});
  Tensor columns = interpolate(split, at, {});
  if (!mask.empty()) {
    check_places(mask, 1, "mask");
    columns = columns * reshape(cast_to(mask, real), {images, 1, taps, out[0], out[1]});
  }
  const Dim places = out[0] * out[1];
  columns = reshape(columns, {x.dim(0), groups, weight[1] * taps, places});
  const Tensor weights = cast_to(reshape(w, {1, groups, weight[0] / groups, weight[1] * taps}), real);
  const Tensor result = reshape(matmul(weights, columns), {x.dim(0), weight[0], out[0], out[1]});
  return cast_to(b.empty() ? result : result + per_channel(b, 4, "b", weight[0]), x.dtype());
}

}  // namespace hearth::client
