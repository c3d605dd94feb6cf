#include "compiler/ir/bounds.h"

#include <algorithm>
#include <limits>

#include "base/integer_math.h"

namespace hearth::ir {
namespace {

using Wide = __int128;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The interval as bounds of `dtype`, or the whole range when a fixed-width value could wrap.
Bounds fit(DType dtype, Wide low, Wide high) {
  if (is_index(dtype)) {
    return {static_cast<std::int64_t>(std::clamp<Wide>(low, kMin, kMax)),
            static_cast<std::int64_t>(std::clamp<Wide>(high, kMin, kMax))};
  }
  if (dtype.scalar == Scalar::U64 || low < int_min(dtype) || high > int_max(dtype)) return full_bounds(dtype);
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

// x div 0 = 0.
Wide floor_div(Wide a, Wide b) { return b == 0 ? 0 : hearth::floor_div(a, b); }
Wide trunc_div(Wide a, Wide b) { return b == 0 ? 0 : a / b; }

template <class F>
Bounds corners(DType dtype, Bounds a, Bounds b, F f) {
  Wide values[] = {f(a.min, b.min), f(a.min, b.max), f(a.max, b.min), f(a.max, b.max)};
  return fit(dtype, *std::min_element(values, values + 4), *std::max_element(values, values + 4));
}

bool unbounded(Bounds b) { return b.min == kMin || b.max == kMax; }

Bounds divide(Op op, DType dtype, Bounds a, Bounds b) {
  if (b.min <= 0 && b.max >= 0) return full_bounds(dtype);
  if (unbounded(a) || unbounded(b)) {
    bool both_non_negative = a.min >= 0 && b.min > 0;
    return both_non_negative ? Bounds{0, a.max} : full_bounds(dtype);
  }
  return corners(dtype, a, b, [op](Wide x, Wide y) { return op == Op::FloorDiv ? floor_div(x, y) : trunc_div(x, y); });
}

Bounds modulo(Op op, DType dtype, Bounds a, Bounds b) {
  if (b.min <= 0) return full_bounds(dtype);
  if (op == Op::FloorMod || a.min >= 0) {
    if (a.min >= 0 && a.max < b.min) return a;
    std::int64_t top = b.max == kMax ? kMax : b.max - 1;
    return {0, a.min >= 0 ? std::min(top, a.max) : top};
  }
  if (b.max == kMax) return full_bounds(dtype);
  return {std::max(a.min, -(b.max - 1)), a.max > 0 ? std::min(a.max, b.max - 1) : 0};
}

Bounds compare(Op op, UOpRef x, UOpRef y) {
  if (!(is_int(x->dtype) || is_bool(x->dtype))) return {0, 1};
  Bounds a = x->bounds, b = y->bounds;
  bool unsigned_top = x->dtype.scalar == Scalar::U64 && (a.max == kMax || b.max == kMax);
  auto known = [](bool value) { return Bounds{value, value}; };
  switch (op) {
    case Op::Lt:
      if (a.max < b.min && a.max != kMax) return known(true);
      if (a.min >= b.max && !unsigned_top) return known(false);
      break;
    case Op::Le:
      if (a.max <= b.min && a.max != kMax) return known(true);
      if (a.min > b.max && b.max != kMax) return known(false);
      break;
    case Op::Eq:
    case Op::Ne:
      if ((a.max < b.min && a.max != kMax) || (b.max < a.min && b.max != kMax)) return known(op == Op::Ne);
      if (x == y || (is_single_value(a) && a == b && a.max != kMax)) return known(op == Op::Eq);
      break;
    default:
      break;
  }
  return {0, 1};
}

Bounds join(Bounds a, Bounds b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

Bounds cast_bounds(DType dtype, UOpRef x) {
  if (is_bool(dtype)) return is_int(x->dtype) && (x->bounds.min > 0 || x->bounds.max < 0) ? Bounds{1, 1} : Bounds{0, 1};
  if (!(is_int(x->dtype) || is_bool(x->dtype))) return full_bounds(dtype);
  if (x->bounds.min >= int_min(dtype) && x->bounds.max <= int_max(dtype) && x->bounds.max != kMax) return x->bounds;
  return full_bounds(dtype);
}

}  // namespace

Bounds full_bounds(DType dtype) {
  if (is_int(dtype) || is_bool(dtype)) return {int_min(dtype), int_max(dtype)};
  return {kMin, kMax};
}

Bounds derive_bounds(Op op, DType dtype, std::span<const UOpRef> s, const Payload& payload) {
  if (!(is_int(dtype) || is_bool(dtype))) return full_bounds(dtype);
  auto b = [&](std::size_t i) { return s[i]->bounds; };
  switch (op) {
    case Op::Const: {
      std::int64_t value = std::get<ConstValue>(payload).i;
      if (dtype.scalar == Scalar::U64 && value < 0) return {0, kMax};
      return {value, value};
    }
    case Op::Var:
      return {std::get<VarInfo>(payload).min, std::get<VarInfo>(payload).max};
    case Op::Range:
      return {0, b(0).max == kMax ? kMax : std::max<std::int64_t>(0, b(0).max - 1)};
    case Op::Neg:
      return unbounded(b(0)) ? full_bounds(dtype) : fit(dtype, -Wide(b(0).max), -Wide(b(0).min));
    case Op::Abs:
      if (unbounded(b(0))) return is_unsigned_int(dtype) ? b(0) : full_bounds(dtype);
      if (b(0).min >= 0) return b(0);
      return fit(dtype, b(0).max <= 0 ? -Wide(b(0).max) : Wide(0), std::max<Wide>(-Wide(b(0).min), b(0).max));
    case Op::Not:
      if (is_bool(dtype)) return {1 - b(0).max, 1 - b(0).min};
      return is_signed_int(dtype) ? Bounds{~b(0).max, ~b(0).min} : full_bounds(dtype);
    case Op::Add: {
      if (is_bool(dtype)) return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};
      Bounds sum = fit(dtype, Wide(b(0).min) + b(1).min, Wide(b(0).max) + b(1).max);
      if (is_index(dtype)) {  // an open end stays open
        if (b(0).min == kMin || b(1).min == kMin) sum.min = kMin;
        if (b(0).max == kMax || b(1).max == kMax) sum.max = kMax;
      }
      return sum;
    }
    case Op::Sub: {
      Bounds difference = fit(dtype, Wide(b(0).min) - b(1).max, Wide(b(0).max) - b(1).min);
      if (is_index(dtype)) {
        if (b(0).min == kMin || b(1).max == kMax) difference.min = kMin;
        if (b(0).max == kMax || b(1).min == kMin) difference.max = kMax;
      }
      return difference;
    }
    case Op::Mul:
      if (is_index(dtype) && (unbounded(b(0)) || unbounded(b(1)))) {
        return b(0).min >= 0 && b(1).min >= 0 ? Bounds{0, kMax} : full_bounds(dtype);
      }
      return corners(dtype, b(0), b(1), [](Wide x, Wide y) { return x * y; });
    case Op::FloorDiv:
    case Op::TruncDiv:
      return divide(op, dtype, b(0), b(1));
    case Op::FloorMod:
    case Op::TruncMod:
      return modulo(op, dtype, b(0), b(1));
    case Op::Max:
      return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};
    case Op::Min:
      return {std::min(b(0).min, b(1).min), std::min(b(0).max, b(1).max)};
    case Op::And:
      if (is_bool(dtype)) return {std::min(b(0).min, b(1).min), std::min(b(0).max, b(1).max)};
      return b(0).min >= 0 && b(1).min >= 0 ? Bounds{0, std::min(b(0).max, b(1).max)} : full_bounds(dtype);
    case Op::Or:
      return is_bool(dtype) ? Bounds{std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)} : full_bounds(dtype);
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
      return compare(op, s[0], s[1]);
    case Op::Where:
      if (is_single_value(b(0))) return b(0).min ? b(1) : b(2);
      return join(b(1), b(2));
    case Op::Cast:
      return cast_bounds(dtype, s[0]);
    case Op::Broadcast:
    case Op::Extract:
      return b(0);
    case Op::Stack: {
      Bounds all = b(0);
      for (UOpRef x : s) all = join(all, x->bounds);
      return all;
    }
    case Op::Reduce:
    case Op::ReduceAxis:
    case Op::Horizontal: {
      ReduceKind kind = std::get<ReduceInfo>(payload).kind;
      bool may_be_empty = op != Op::Horizontal;
      if (kind == ReduceKind::Max || kind == ReduceKind::Min) {
        std::int64_t identity = kind == ReduceKind::Max ? int_min(dtype) : int_max(dtype);
        return may_be_empty ? join(b(0), {identity, identity}) : b(0);
      }
      return full_bounds(dtype);
    }
    case Op::Reshape:
    case Op::Expand:
    case Op::Permute:
    case Op::Shrink:
    case Op::Flip:
    case Op::Unfold:
    case Op::Contiguous:
      return b(0);
    case Op::Pad:
      return join(b(0), b(1));
    default:
      return full_bounds(dtype);
  }
}

}  // namespace hearth::ir
