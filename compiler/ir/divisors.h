// The greatest divisor of a number that is not over a limit: into how many equal parts it can be cut. In at most
// min(at_most, sqrt(n)) steps, since both may come from a client.
#pragma once
#include <algorithm>
#include <cstdint>

namespace hearth::ir {

// n and at_most are at least 1.
inline std::int64_t largest_divisor(std::int64_t n, std::int64_t at_most) {
  if (at_most >= n) return n;
  std::int64_t largest = 1;
  for (std::int64_t d = 1; d <= at_most && d <= n / d; ++d) {
    if (n % d != 0) continue;
    largest = std::max(largest, d);
    if (n / d <= at_most) return n / d;  // the cofactors of greater divisors are smaller
  }
  return largest;
}

}  // namespace hearth::ir
