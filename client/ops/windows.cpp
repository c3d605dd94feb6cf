#include "client/ops/windows.h"

#include <limits>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/movement.h"

namespace hearth::client {

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

namespace {

Shape with_spatial(std::int64_t rank, const Lengths& spatial) {
  Shape shape(static_cast<std::size_t>(rank), Dim(0));
  for (std::size_t i = 0; i < spatial.size(); ++i) shape[2 + i] = spatial[i];
  return shape;
}

}  // namespace

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

}  // namespace hearth::client
