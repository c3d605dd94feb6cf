#include "hearth/ops/creation.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::client {
namespace {

// column - row of every place of a matrix.
Tensor diagonals(const Dim& rows, const Dim& columns) {
  return iota({rows, columns}, 1, DType::kI64) - iota({rows, columns}, 0, DType::kI64);
}

Tensor triangle(const Tensor& x, std::int64_t diagonal, bool upper) {
  if (require(x, "x").rank() < 2) fail_op(str_cat("argument 'x' is ", describe(x), "; expected at least 2 axes"));
  const Tensor at = diagonals(x.dim(-2), x.dim(-1));
  return where(upper ? greater_equal(at, diagonal) : less_equal(at, diagonal), x,
               filled({}, std::int64_t{0}, x.dtype()));
}

}  // namespace

Tensor linspace(double start, double stop, std::int64_t count, DType dtype, Loc loc) {
  OpScope scope("linspace", loc);
  if (!is_float(dtype)) fail_op(str_cat("the dtype is ", dtype_name(dtype), "; expected a float dtype"));
  if (count < 1) fail_op(str_cat("count is ", count, "; expected >= 1"));
  if (count == 1) return cast_to(filled({Dim(1)}, start, DType::kF64), dtype);
  const Tensor at = iota({Dim(count)}, 0, DType::kI64);
  const Tensor value = cast_to(at, DType::kF64) * ((stop - start) / static_cast<double>(count - 1)) + start;
  return cast(where(equal(at, count - 1), stop, value), dtype);
}

Tensor eye(Dim rows, Dim columns, std::int64_t diagonal, DType dtype, Loc loc) {
  OpScope scope("eye", loc);
  return cast_to(equal(diagonals(rows, columns), diagonal), dtype);
}

Tensor triu(const Tensor& x, std::int64_t diagonal, Loc loc) {
  OpScope scope("triu", loc);
  return triangle(x, diagonal, true);
}

Tensor tril(const Tensor& x, std::int64_t diagonal, Loc loc) {
  OpScope scope("tril", loc);
  return triangle(x, diagonal, false);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridIndexing indexing, Loc loc) {
  OpScope scope("meshgrid", loc);
  Shape shape;
  for (const Tensor& vector : vectors) {
    if (require(vector, "vectors").rank() != 1) {
      fail_op(str_cat("a vector is ", describe(vector), "; expected one axis each"));
    }
    shape.push_back(vector.dim(0));
  }
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape along(vectors.size(), Dim(1));
    along[i] = shape[i];
    const Tensor grid = expand_to(reshape_to(vectors[i], along), shape);
    grids.push_back(indexing == GridIndexing::kCartesian && vectors.size() > 1 ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

}  // namespace hearth::client
