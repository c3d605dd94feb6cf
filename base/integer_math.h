// Division and remainder that round towards minus infinity, as Python's // and % do. Of any signed integer type,
// __int128 too; the divisor is not 0, and the quotient fits. constexpr, thread-safe.
//
//   static_assert(floor_div(-7, 2) == -4 && floor_mod(-7, 2) == 1);
#pragma once

namespace hearth {

template <typename T>
constexpr T floor_div(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Has the divisor's sign, or is 0.
template <typename T>
constexpr T floor_mod(T a, T b) {
  return a - floor_div(a, b) * b;
}

}  // namespace hearth
