// Reductions and row functions. Empty `axes` means all axes; axes may be negative. Small integers and bool sum in
// i32 and give i32 (i64/u64 stay). Errors: JitError.
//
//   Tensor m = mean(x, {-1}, /*keepdims=*/true);
#pragma once
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

Tensor reduce_sum(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor reduce_prod(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor reduce_max(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor reduce_min(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor mean(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());  // constant lengths
// Population variance (correction 0) unless `correction` says otherwise.
Tensor variance(const Tensor& x, Axes axes = {}, bool keepdims = false, std::int64_t correction = 0,
                Loc loc = Loc::current());
// The variance's square root.
Tensor std_deviation(const Tensor& x, Axes axes = {}, bool keepdims = false, std::int64_t correction = 0,
                     Loc loc = Loc::current());
// (sum of |x|^p)^(1/p), p >= 1.
Tensor lp_norm(const Tensor& x, double p, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor any(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
Tensor all(const Tensor& x, Axes axes = {}, bool keepdims = false, Loc loc = Loc::current());
// Position (i64) of the first largest / smallest element, or the last with `last`.
Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdims = false, bool last = false, Loc loc = Loc::current());
Tensor argmin(const Tensor& x, std::int64_t axis, bool keepdims = false, bool last = false, Loc loc = Loc::current());
// Sums and products of the elements up to each one (exclusive: before it; reverse: from it on), along an axis of
// constant length; in blocks where it is long, so that floats are rounded in another order than one after the other.
Tensor cumsum(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
              Loc loc = Loc::current());
Tensor cumprod(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
               Loc loc = Loc::current());

Tensor softmax(const Tensor& x, std::int64_t axis = -1, Loc loc = Loc::current());
Tensor log_softmax(const Tensor& x, std::int64_t axis = -1, Loc loc = Loc::current());
Tensor logsumexp(const Tensor& x, Axes axes, bool keepdims = false, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
