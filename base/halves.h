// The one form of a sum of a number x and its halves, floor(x / 2) and floor((x + 1) / 2), whose sum is x: two of them
// are enough to write any such sum. constexpr, thread-safe; the caller keeps the numbers small enough to add.
//
//   canonical<int>({1, -1, 0}) == Halves<int>{0, 0, 1};  // x - x/2 is (x + 1)/2
#pragma once

namespace hearth {

// whole * x + down * floor(x / 2) + up * floor((x + 1) / 2)
template <typename T>
struct Halves {
  T whole = 0, down = 0, up = 0;
  bool operator==(const Halves&) const = default;
};

// Two halves of one sign become as many wholes as there are pairs of them. Of two with opposite signs the one that is
// rounded down stays, beside wholes: x - 2 * floor(x / 2). A half that is rounded up shows bounds that it is positive.
template <typename T>
constexpr Halves<T> canonical(const Halves<T>& sum) {
  const T a = sum.whole + sum.down, b = sum.whole + sum.up;
  if (a == 0 || b == 0) return {0, a, b};
  if ((a < 0) != (b < 0)) return {b, a - b, 0};
  const T both = (a < b) == (a > 0) ? a : b;
  return {both, a - both, b - both};
}

}  // namespace hearth
