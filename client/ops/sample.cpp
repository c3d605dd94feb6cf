#include "hearth/ops/sample.h"

#include "base/text.h"
#include "client/ops/interpolate.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"

namespace hearth::client {
Tensor grid_sample(const Tensor& x, const Tensor& grid, const SampleConfig& config, Loc loc) {
  OpScope scope("grid_sample", loc);
  require_float(grid, "grid");
  if (grid.rank() < 3) fail_op(str_cat("argument 'grid' is ", describe(grid), "; expected [N, out..., d]"));
  const std::int64_t spatial = const_length(grid, -1, "since it counts spatial axes");
  check_sampled(x, spatial);
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

}  // namespace hearth::client
