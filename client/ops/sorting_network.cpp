#include "client/ops/sorting_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::client {
namespace {

constexpr std::int64_t kVector = 16;        // neighbours that a step leaves together
constexpr std::int64_t kEven = 8;           // numbers of blocks are multiples of, so that kernels are shared
constexpr std::int64_t kPositionBits = 32;  // of a packed key
constexpr std::int64_t kPositionMask = (std::int64_t{1} << kPositionBits) - 1;
constexpr std::int64_t kMinSelected = 16;  // elements for each that is wanted, from where on they are selected first

// Smaller ones come first. Packed: `key` holds the order above and the position below. Else `position` decides where
// keys are equal.
struct Keys {
  Tensor key;       // i64
  Tensor position;  // i32, or empty
  bool packed() const { return position.empty(); }
};

template <class F>
Keys each(const Keys& keys, F f) {
  return {f(keys.key), keys.packed() ? Tensor() : f(keys.position)};
}

// Signed integers of x's width in x's order; all NaN are one value above the others, and both zeros one value.
Tensor ordered(const Tensor& x) {
  if (x.dtype() == DType::kU64) return bit_xor(bitcast(x, DType::kI64), std::numeric_limits<std::int64_t>::min());
  if (x.dtype() == DType::kU32) return cast_to(x, DType::kI64) - (std::int64_t{1} << 31);
  if (!is_float(x.dtype())) return cast_to(x, DType::kI64);
  const bool is_wide = x.dtype() == DType::kF64;
  const DType bits = is_wide ? DType::kI64 : DType::kI32;
  const std::int64_t greatest =
      is_wide ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max();
  const Tensor value = cast_to(x, is_wide ? DType::kF64 : DType::kF32);
  const Tensor raw = bitcast(value, bits);
  const Tensor order = where(less(raw, 0), bit_xor(raw, greatest), raw);
  return where(is_nan(value), greatest, where(equal(value, 0.0), 0, order));
}

bool fits_packed(DType dtype) { return dtype != DType::kF64 && dtype != DType::kI64 && dtype != DType::kU64; }

// Smaller ones come first.
Tensor order_of(const Tensor& x, bool descending) { return descending ? bitwise_not(ordered(x)) : ordered(x); }

Tensor packed(const Tensor& order, const Tensor& position) {
  return bit_or(shift_left(cast_to(order, DType::kI64), kPositionBits), position);
}

// position: i64, broadcasts to x.
Keys keys_of(const Tensor& x, const Tensor& position, bool descending) {
  const Tensor order = order_of(x, descending);
  if (!fits_packed(x.dtype())) return {order, expand_to(cast_to(position, DType::kI32), x.shape())};
  return {packed(order, position), {}};
}

Tensor positions_of(const Keys& keys) {
  if (!keys.packed()) return cast_to(keys.position, DType::kI64);
  return bit_and(keys.key, kPositionMask);
}

Keys first_of(const Keys& a, const Keys& b, bool later) {
  if (a.packed()) return {later ? maximum(a.key, b.key) : minimum(a.key, b.key), {}};
  const Tensor b_first = bit_or(less(b.key, a.key), bit_and(equal(b.key, a.key), less(b.position, a.position)));
  const Keys &then = later ? a : b, &otherwise = later ? b : a;
  return {where(b_first, then.key, otherwise.key), where(b_first, then.position, otherwise.position)};
}

// Blocks of `length` elements each, sorted side by side: [R, inner, outer, blocks], element `o * inner + i` of a block
// at [i, o]. Steps over short distances, of which there are most, so have long rows of neighbours.
struct Layout {
  Dim rows;
  std::int64_t inner, outer, blocks;
  std::int64_t length() const { return inner * outer; }
  Shape shape() const { return {rows, Dim(inner), Dim(outer), Dim(blocks)}; }
};

Keys reshaped(const Keys& keys, const Shape& shape) {
  return each(keys, [&](const Tensor& x) { return reshape_to(x, shape); });
}

// Halves along `axis` of [.., 2, ..]: the smaller of each pair goes to the first, `mirrored` axes of the second half
// run backwards.
Keys exchanged(const Keys& keys, std::int64_t axis, const Axes& mirrored) {
  const auto half = [&](std::int64_t i) {
    return each(keys, [&](const Tensor& x) {
      const Tensor part = slice(x, {{.axis = axis, .begin = i, .end = i + 1}});
      return i == 1 && !mirrored.empty() ? flip(part, mirrored) : part;
    });
  };
  const Keys a = half(0), b = half(1);
  const Keys low = first_of(a, b, false), high = first_of(a, b, true);
  const auto joined = [&](const Tensor& x, const Tensor& y) {
    return contiguous(cat({x, mirrored.empty() ? y : flip(y, mirrored)}, axis));
  };
  return {joined(low.key, high.key), keys.packed() ? Tensor() : joined(low.position, high.position)};
}

// Compares elements `distance` apart; mirrored: the first of 2 * distance with the last, and so on.
Keys step(const Keys& keys, const Layout& l, std::int64_t distance, bool mirrored) {
  if (distance < l.inner) {
    const Keys halves =
        reshaped(keys, {l.rows, Dim(l.inner / (2 * distance)), Dim(2), Dim(distance), Dim(l.outer * l.blocks)});
    return reshaped(exchanged(halves, 2, mirrored ? Axes{3} : Axes{}), l.shape());
  }
  const std::int64_t apart = distance / l.inner;
  const Keys halves =
      reshaped(keys, {l.rows, Dim(l.inner), Dim(l.outer / (2 * apart)), Dim(2), Dim(apart), Dim(l.blocks)});
  return reshaped(exchanged(halves, 3, mirrored ? Axes{1, 4} : Axes{}), l.shape());
}

// Two steps in one, elements `distance` and then half of it apart: each quarter is made of all four.
Keys two_steps(const Keys& keys, const Layout& l, std::int64_t distance) {
  const Keys quarters =
      reshaped(keys, {l.rows, Dim(l.inner / (2 * distance)), Dim(4), Dim(distance / 2), Dim(l.outer * l.blocks)});
  const auto quarter = [&](std::int64_t i) {
    return each(quarters, [&](const Tensor& x) { return slice(x, {{.axis = 2, .begin = i, .end = i + 1}}); });
  };
  std::vector<Tensor> parts, positions;
  for (const bool upper : {false, true}) {
    const Keys a = first_of(quarter(0), quarter(2), upper), b = first_of(quarter(1), quarter(3), upper);
    for (const bool later : {false, true}) {
      const Keys made = first_of(a, b, later);
      parts.push_back(made.key);
      if (!made.packed()) positions.push_back(made.position);
    }
  }
  const Keys joined = {contiguous(cat(parts, 2)), positions.empty() ? Tensor() : contiguous(cat(positions, 2))};
  return reshaped(joined, l.shape());
}

// Blocks that go up and then down, over lengths of 2 * distance, are sorted.
Keys smoothed(Keys keys, const Layout& l, std::int64_t distance) {
  while (distance > 0) {
    const bool two = distance > 1 && distance < l.inner;
    keys = two ? two_steps(keys, l, distance) : step(keys, l, distance, false);
    distance /= two ? 4 : 2;
  }
  return keys;
}

// Sorts blocks of which both halves ascend where `size` is theirs together.
Keys merged(const Keys& keys, const Layout& l, std::int64_t size) {
  return smoothed(step(keys, l, size / 2, true), l, size / 4);
}

// The first l.length() of all blocks' elements, sorted, from sorted blocks.
Keys tournament(Keys keys, Layout l) {
  while (l.blocks > 1) {
    const std::int64_t half = (l.blocks + 1) / 2;
    const auto part = [&](const Tensor& x, std::int64_t begin, std::int64_t end) {
      return slice(x, {{.axis = 3, .begin = begin, .end = end}});
    };
    const std::int64_t pairs = l.blocks - half;
    const Keys a = each(keys, [&](const Tensor& x) { return part(x, 0, pairs); });
    const Keys b = each(keys, [&](const Tensor& x) { return flip(part(x, half, l.blocks), {1, 2}); });
    const Keys first = first_of(a, b, false);  // first up, then down
    const auto with_odd = [&](const Tensor& x, const Tensor& of) {
      return contiguous(pairs == half ? x : cat({x, part(of, pairs, half)}, 3));
    };
    keys = {with_odd(first.key, keys.key), keys.packed() ? Tensor() : with_odd(first.position, keys.position)};
    l.blocks = half;
    keys = smoothed(std::move(keys), l, l.length() / 2);
  }
  return keys;
}

// keys [R, n] -> the first `count` of them [R, count], in order.
Keys network(const Keys& keys, std::int64_t count) {
  const Dim rows = keys.key.dim(0);
  const std::int64_t n = keys.key.dim(1).value();
  Layout l{rows, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))), 1, 1};
  l.blocks = (n + l.inner - 1) / l.inner;
  if (l.blocks > kEven) l.blocks = (l.blocks + kEven - 1) / kEven * kEven;
  while (l.outer * l.blocks < kVector && l.inner > kVector) l.inner /= 2, l.outer *= 2;
  const std::int64_t more = l.length() * l.blocks - n;  // come last
  const auto filled_up = [&](const Tensor& x, std::int64_t last) {
    return contiguous(more == 0 ? x : cat({x, filled({rows, Dim(more)}, last, x.dtype())}, 1));
  };
  Keys sorted = {filled_up(keys.key, std::numeric_limits<std::int64_t>::max()),
                 keys.packed() ? Tensor() : filled_up(keys.position, std::numeric_limits<std::int32_t>::max())};
  sorted = reshaped(sorted, l.shape());
  for (std::int64_t size = 2; size <= l.length(); size *= 2) sorted = merged(sorted, l, size);
  return each(tournament(sorted, l), [&](const Tensor& x) {
    return slice(reshape_to(transpose(x, 1, 2), {rows, Dim(l.length())}), {{.axis = 1, .end = count}});
  });
}

// Where few of many are wanted, some are taken together: the first ones can only be in the groups whose own first
// elements are among the first of all groups.
struct Groups {
  Groups(std::int64_t n, std::int64_t count)
      : size(std::int64_t{1} << std::lround(std::log2(static_cast<double>(n) / static_cast<double>(count)) / 2)),
        num(n / size) {}
  static bool are_worth_it(std::int64_t n, std::int64_t count) { return n >= kMinSelected * count; }
  std::int64_t whole() const { return num * size; }
  std::int64_t size, num;
};

// Elements [R, ...] of rows of x, at positions [R, ...] in them.
Tensor elements_at(const Tensor& x, const Tensor& at) {
  Shape shape(at.shape().size(), Dim(1));
  shape[0] = x.dim(0);
  return gather(reshape_to(x, {x.dim(0) * x.dim(1)}), iota(shape, 0, DType::kI64) * x.dim(1).value() + at, 0);
}

// The first ones of packed keys [R, n] whose positions are those in their rows. Every num-th element is of a group, so
// that neighbours are compared side by side.
Keys first_packed(const Tensor& keys, std::int64_t count) {
  const std::int64_t n = keys.dim(1).value();
  if (!Groups::are_worth_it(n, count)) return network({keys, {}}, count);
  const Groups groups(n, count);
  const Dim rows = keys.dim(0), size(groups.size);
  const Tensor whole = slice(keys, {{.axis = 1, .end = groups.whole()}});
  const Keys first = {reduce_min(reshape_to(whole, {rows, size, Dim(groups.num)}), {1}), {}};
  const Tensor chosen =
      cast_to(floor_mod(cast_to(positions_of(network(first, count)), DType::kI32), groups.num), DType::kI64);
  const Tensor at = unsqueeze(chosen, {2}) + iota({Dim(1), Dim(1), size}, 2, DType::kI64) * groups.num;
  const Tensor candidates = reshape_to(contiguous(elements_at(keys, at)), {rows, Dim(count) * size});
  return network({cat({candidates, slice(keys, {{.axis = 1, .begin = groups.whole()}})}, 1), {}}, count);
}

// The first keys of the rows of x [R, n].
Keys first_keys(const Tensor& x, std::int64_t count, bool descending) {
  const Dim rows = x.dim(0);
  const std::int64_t n = x.dim(1).value();
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    const Tensor at = iota({Dim(1), Dim(end - begin)}, 1, DType::kI64) + begin;
    return keys_of(slice(x, {{.axis = 1, .begin = begin, .end = end}}), at, descending);
  };
  if (!fits_packed(x.dtype()) || !Groups::are_worth_it(n, count)) return network(part(0, n), count);
  const Groups groups(n, count);
  if (groups.size < kVector) return first_packed(part(0, n).key, count);
  const Dim size(groups.size);
  // Neighbours: of equal elements those of earlier groups come first.
  const Tensor grouped = reshape_to(slice(x, {{.axis = 1, .end = groups.whole()}}), {rows, Dim(groups.num), size});
  const Tensor first = reduce_min(order_of(grouped, descending), {2});
  const Tensor chosen = positions_of(first_packed(packed(first, iota(first.shape(), 1, DType::kI64)), count));
  const Tensor at = unsqueeze(chosen, {2}) * groups.size + iota({Dim(1), Dim(1), size}, 2, DType::kI64);
  const Tensor of_row = iota({rows, Dim(count)}, 0, DType::kI64) * groups.num;
  const Tensor members = gather(reshape_to(grouped, {rows * Dim(groups.num), size}), chosen + of_row, 0);
  const Tensor candidates =
      reshape_to(contiguous(keys_of(members, at, descending).key), {rows, Dim(count * groups.size)});
  const bool is_all = groups.whole() == n;
  return network({is_all ? candidates : cat({candidates, part(groups.whole(), n).key}, 1), {}}, count);
}

}  // namespace

Tensor network_order(const Tensor& x, std::int64_t count, bool descending) {
  Shape shape = x.shape();
  const Dim n = shape.back();
  if (n.value() > std::numeric_limits<std::int32_t>::max())
    fail_op(str_cat(n.value(), " elements cannot be sorted; expected fewer than 2^31"));
  shape.pop_back();
  const Tensor rows = reshape_to(x, {num_elements(shape), n});
  shape.emplace_back(count);
  return reshape_to(positions_of(first_keys(rows, count, descending)), shape);
}

}  // namespace hearth::client
