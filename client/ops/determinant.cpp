#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {

// Gaussian elimination with partial pivoting; the rest of the matrix shrinks by one row and column a step.
Tensor determinant(const Tensor& x, Loc loc) {
  OpScope scope("determinant", loc);
  constexpr std::int64_t kMaxLength = 64;
  const Tensor value = to_wide(require(x, "x"));
  if (value.rank() < 2 || !(value.dim(-1) == value.dim(-2))) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected square matrices"));
  }
  const std::int64_t n = const_length(value, -1, "since elimination is unrolled");
  if (n < 1 || n > kMaxLength)
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected 1 to ", kMaxLength, " rows"));
  Tensor rest = value, result;
  for (std::int64_t left = n; left > 0; --left) {
    const Tensor column = slice(rest, {{.axis = -1, .end = 1}});  // [.., left, 1]
    const Tensor top = argmax(abs(column), -2, true);             // [.., 1, 1]
    const Tensor is_top = equal(iota(column.shape(), column.rank() - 2, DType::kI64), top);
    const Tensor row = reduce_sum(where(is_top, rest, 0.0), {-2}, true);  // [.., 1, left]
    const Tensor pivot = select(row, -1, 0);                              // [.., 1]
    const Tensor factor = where(greater(squeeze(top, {-1}), 0), -pivot, pivot);
    result = result.empty() ? factor : result * factor;
    if (left == 1) break;
    // The first row takes the pivot row's place.
    const Tensor swapped = where(is_top, slice(rest, {{.axis = -2, .end = 1}}), rest);
    const Tensor below = slice(swapped, {{.axis = -2, .begin = 1}});
    const Tensor share = slice(below, {{.axis = -1, .end = 1}}) / unsqueeze(pivot, {-1});
    const Tensor removed =
        where(equal(unsqueeze(pivot, {-1}), 0.0), 0.0, share * slice(row, {{.axis = -1, .begin = 1}}));
    rest = contiguous(slice(below, {{.axis = -1, .begin = 1}}) - removed);
  }
  return cast_to(squeeze(result, {-1}), float_dtype(x));
}

}  // namespace hearth::client
