#include "compiler/ir/divisors.h"

#include <catch2/catch.hpp>

namespace hearth::ir {
namespace {

TEST_CASE("the greatest divisor that is not over a limit is the one that counting down finds") {
  for (std::int64_t n = 1; n <= 400; ++n) {
    for (std::int64_t most = 1; most <= 420; ++most) {
      std::int64_t wanted = most;
      while (n % wanted != 0) --wanted;
      INFO(n << " " << most);
      REQUIRE(largest_divisor(n, most) == wanted);
    }
  }
}

TEST_CASE("a limit beyond any machine's costs no more than the number's root") {
  constexpr std::int64_t kPrime = 1'000'003, kHuge = std::int64_t{1} << 62;
  CHECK(largest_divisor(kPrime, kHuge) == kPrime);
  CHECK(largest_divisor(kPrime * kPrime, kPrime * kPrime - 1) == kPrime);  // counting down would take 10^12 steps
  CHECK(largest_divisor(std::int64_t{1} << 44, (std::int64_t{1} << 43) + 1) == std::int64_t{1} << 43);
  CHECK(largest_divisor(kHuge - 1, 1) == 1);
}

}  // namespace
}  // namespace hearth::ir
