#include "hearth/ops/sort.h"

#include <limits>

#include "base/text.h"
#include "client/ops/sorting_network.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr std::int64_t kMaxCompared = 128;  // elements of a row of which each is compared with every other

// The positions of the first `count` elements in order, along the last axis.
Tensor compared_order(const Tensor& x, std::int64_t count, bool descending) {
  const std::int64_t length = x.dim(-1).value();
  Shape pairs = x.shape();
  pairs.emplace_back(length);
  // Element i against every j of its row.
  const Tensor mine = unsqueeze(x, {-1}), other = unsqueeze(x, {-2});
  const Tensor before = descending ? orders_before(mine, other) : orders_before(other, mine);
  const Tensor after = descending ? orders_before(other, mine) : orders_before(mine, other);
  const Tensor earlier = less(iota(pairs, x.rank(), DType::kI32), iota(pairs, x.rank() - 1, DType::kI32));
  const Tensor ahead = bit_or(before, bit_and(logical_not(after), earlier));
  const Tensor rank = reduce_sum(cast_to(ahead, DType::kI32), {-1});
  // Ranks are a permutation; its inverse is the order.
  pairs[pairs.size() - 2] = count;
  const Tensor has_rank = equal(unsqueeze(rank, {-2}), iota(pairs, x.rank() - 1, DType::kI32));
  return cast_to(reduce_sum(where(has_rank, iota(pairs, x.rank(), DType::kI32), 0), {-1}), DType::kI64);
}

// Elements of rows [.., n] at positions [.., count] of each, all within it; stored, so that readers find them in order.
Tensor taken(const Tensor& rows, const Tensor& positions) {
  const Dim count = positions.dim(-1);
  Shape lead(rows.shape().begin(), rows.shape().end() - 1);
  const Shape flat = {num_elements(lead), count};
  const bool is_small = num_elements(rows.shape()).max() <= std::numeric_limits<std::int32_t>::max();
  const DType dtype = is_small ? DType::kI32 : DType::kI64;
  const Tensor begin = iota({flat[0], Dim(1)}, 0, dtype) * rows.dim(-1).value();
  Tensor elements = reshape(rows, {num_elements(rows.shape())});
  if (elements.dim(0).min() < 1) elements = pad(elements, {0}, {1});  // there may be no rows, and nobody reads it then
  const Tensor values = gather(elements, cast_to(reshape_to(positions, flat), dtype) + begin, 0);
  lead.push_back(count);
  return reshape_to(contiguous(values), lead);
}

TopK first_in_order(const Tensor& x, std::int64_t count, std::int64_t axis, bool descending) {
  if (num_elements(x.shape()) == Dim(0) || count == 0) {
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis)] = count;
    return {filled(shape, std::int64_t{0}, x.dtype()), filled(shape, std::int64_t{0}, DType::kI64)};
  }
  const Tensor rows = transpose(x, axis, -1);
  const bool is_short = rows.dim(-1).value() <= kMaxCompared;
  const Tensor positions = (is_short ? compared_order : network_order)(rows, count, descending);
  return {transpose(taken(rows, positions), axis, -1), transpose(positions, axis, -1)};
}

std::int64_t sorted_axis(const Tensor& x, std::int64_t axis) {
  axis = normal_axis(axis, require(x, "x").rank());
  const_length(x, axis, "since it is sorted");
  return axis;
}

}  // namespace

Tensor sort(const Tensor& x, std::int64_t axis, bool descending, Loc loc) {
  OpScope scope("sort", loc);
  axis = sorted_axis(x, axis);
  return first_in_order(x, x.dim(axis).value(), axis, descending).values;
}

Tensor argsort(const Tensor& x, std::int64_t axis, bool descending, Loc loc) {
  OpScope scope("argsort", loc);
  axis = sorted_axis(x, axis);
  return first_in_order(x, x.dim(axis).value(), axis, descending).indices;
}

TopK topk(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest, Loc loc) {
  OpScope scope("topk", loc);
  axis = sorted_axis(x, axis);
  const std::int64_t length = x.dim(axis).value();
  if (k < 0 || k > length) fail_op(str_cat("k is ", k, "; expected 0 to ", length, ", the length of axis ", axis));
  return first_in_order(x, k, axis, largest);
}

}  // namespace hearth::client
