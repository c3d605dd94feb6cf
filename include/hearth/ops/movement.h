// Movement ops: they change which element stands where, never its value. Axes may be negative. Errors: JitError.
//
//   Tensor y = permute(reshape(x, {0, 8, -1}), {1, 0, 2});
//   Tensor z = slice(x, {{.axis = -1, .begin = 0, .end = 16, .step = 2}});
#pragma once
#include <limits>
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// One length may be -1 (inferred).
Tensor reshape(const Tensor& x, Shape shape, Loc loc = Loc::current());
Tensor flatten(const Tensor& x, std::int64_t axis = 1, Loc loc = Loc::current());  // to rank 2 around `axis`
// numpy broadcast_to: new leading axes, and axes of length 1 grow.
Tensor expand(const Tensor& x, Shape shape, Loc loc = Loc::current());
Tensor permute(const Tensor& x, Axes axes, Loc loc = Loc::current());
Tensor transpose(const Tensor& x, std::int64_t a = -2, std::int64_t b = -1, Loc loc = Loc::current());
Tensor squeeze(const Tensor& x, Axes axes = {}, Loc loc = Loc::current());  // empty: every axis of constant length 1
Tensor unsqueeze(const Tensor& x, Axes axes, Loc loc = Loc::current());     // axes of the result

// `before` and `after` per axis; negative values crop. The fill is cast to x's dtype.
Tensor pad(const Tensor& x, Shape before, Shape after, double fill = 0, Loc loc = Loc::current());
// Pads integers and bool with any of their values: the low bits of `fill`, e.g. -1 for the greatest u64.
Tensor pad_integer(const Tensor& x, Shape before, Shape after, std::int64_t fill, Loc loc = Loc::current());
// Elements that repeat the edge (mode "edge") or mirror it ("reflect"), one constant amount per axis.
Tensor pad_edge(const Tensor& x, Axes before, Axes after, Loc loc = Loc::current());
Tensor pad_reflect(const Tensor& x, Axes before, Axes after, Loc loc = Loc::current());
// Keeps [begin, end) of every axis; 0 <= begin <= end <= length, provably.
Tensor shrink(const Tensor& x, Shape begin, Shape end, Loc loc = Loc::current());
Tensor flip(const Tensor& x, Axes axes, Loc loc = Loc::current());

// numpy's roll along one axis of constant length: element i moves to i + shift, around the end.
Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis, Loc loc = Loc::current());

// numpy's x[begin:end:step] along one axis: out-of-range bounds are clamped, negative ones count from the end.
struct Slice {
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kBeforeBegin = std::numeric_limits<std::int64_t>::min();  // `end` for step < 0
  std::int64_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = kEnd;
  std::int64_t step = 1;
};
Tensor slice(const Tensor& x, const std::vector<Slice>& slices, Loc loc = Loc::current());
// x[index] along one axis; the axis goes away.
Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index, Loc loc = Loc::current());

// Windows along `axis`: its length becomes the number of windows and a new last axis holds `size` elements.
Tensor unfold(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step = 1, std::int64_t dilation = 1,
              Loc loc = Loc::current());

Tensor cat(const std::vector<Tensor>& xs, std::int64_t axis, Loc loc = Loc::current());    // dtypes are promoted
Tensor stack(const std::vector<Tensor>& xs, std::int64_t axis, Loc loc = Loc::current());  // along a new axis
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& lengths, std::int64_t axis,
                          Loc loc = Loc::current());
// Equal parts of `length`, the last one may be shorter.
std::vector<Tensor> split_every(const Tensor& x, std::int64_t length, std::int64_t axis, Loc loc = Loc::current());
Tensor tile(const Tensor& x, const Shape& repeats, Loc loc = Loc::current());
// Each element `repeats` times in a row along `axis`.
Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::int64_t axis, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
