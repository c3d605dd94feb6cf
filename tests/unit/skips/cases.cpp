// Cases that skip, and one that checks nothing; skips_test.py says what becomes of each.
#include <catch2/catch.hpp>

#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"

TEST_CASE("checks") { CHECK(1 + 1 == 2); }
TEST_CASE("fails") { CHECK(1 + 1 == 3); }
TEST_CASE("checks nothing") {}
TEST_CASE("skips") { SKIP_CASE("there is no such thing"); }
TEST_CASE("skips the rest") {
  CHECK(1 + 1 == 2);
  SKIP_CASE("there is no more");
}
TEST_CASE("skips a part") {
  for (int i = 0; i < 2; ++i) hearth::test::skip_part("there is no such part");
  CHECK(1 + 1 == 2);
}
TEST_CASE("skips a part and checks nothing") { hearth::test::skip_part("there is no such part"); }
TEST_CASE("skips and fails") {
  CHECK(1 + 1 == 3);
  SKIP_CASE("there is no more");
}
TEST_CASE("draws a seed") { CHECK(hearth::test::fresh_seed() < (std::uint64_t{1} << 32)); }
