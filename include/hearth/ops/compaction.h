// Results whose length depends on the data: a tensor of the greatest length there can be, and a scalar i64 with the
// true one. Along the counted axis, what stands from the true length on is 0. All take constant lengths. Time: what is
// looked at, for `unique` the square of it. Errors: JitError.
//
//   auto [positions, length] = nonzero(greater(x, 0));   // positions[:, :length]
#pragma once
#include <optional>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct Compacted {
  Tensor values;
  Tensor length;  // i64 scalar
};

// numpy.nonzero as one tensor: [rank, n], one column of coordinates (i64) for every element other than 0, row-major.
Compacted nonzero(const Tensor& x, Loc loc = Loc::current());

// numpy.compress: the places along `axis` where `condition` (bool, one axis, at most as long) is true.
Compacted compress(const Tensor& x, const Tensor& condition, std::int64_t axis, Loc loc = Loc::current());

// The distinct elements of all of x, or the distinct slices across `axis`: in ascending (for slices lexicographic)
// order, or `sorted` false: in the order of their first occurrence. NaNs count as equal to each other.
struct UniqueResult {
  Tensor values;   // counted along `axis`, or [n]
  Tensor indices;  // i64 [n]: where each first stands
  Tensor inverse;  // i64, its full length counts: which distinct one stands at each place
  Tensor counts;   // i64 [n]
  Tensor length;   // i64 scalar, of all but `inverse`
};
UniqueResult unique(const Tensor& x, std::optional<std::int64_t> axis = {}, bool sorted = true,
                    Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
