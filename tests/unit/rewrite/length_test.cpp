// One form for equal lengths (compiler/ir/length), and that it means what was written.
#include "compiler/ir/length.h"

#include <catch2/catch.hpp>
#include <random>

#include "compiler/ir/shape.h"
#include "tests/unit/rules/evaluator.h"

using namespace hearth::ir;

namespace {

struct Lengths {
  Graph g;
  UOpRef n = g.var("n", 1, 64, 0), m = g.var("m", 0, 9, 1);
  UOpRef k(std::int64_t value) { return g.index(value); }
  UOpRef op(Op kind, UOpRef a, UOpRef b) { return g.binary(kind, a, b); }
  UOpRef form(UOpRef x) { return canonical_length(g, x); }
};

// A random tree that import could give: divisors are positive constants.
UOpRef random_length(Lengths& t, std::mt19937& random, int depth) {
  if (depth == 0 || random() % 5 == 0) {
    const std::uint32_t leaf = random() % 3;
    return leaf == 0 ? t.n : leaf == 1 ? t.m : t.k(static_cast<std::int64_t>(random() % 9) - 4);
  }
  const UOpRef a = random_length(t, random, depth - 1);
  const std::uint32_t kind = random() % 6;
  if (kind >= 4)
    return t.op(kind == 4 ? Op::FloorDiv : Op::FloorMod, a, t.k(1 + static_cast<std::int64_t>(random() % 5)));
  const UOpRef b = random_length(t, random, depth - 1);
  return t.op(kind == 0 ? Op::Sub : kind == 1 ? Op::Mul : Op::Add, a, b);
}

}  // namespace

TEST_CASE("lengths that are equal as polynomials and quotients have one form") {
  Lengths t;
  const UOpRef one = t.k(1), two = t.k(2);
  const auto halved = [&](UOpRef x) { return t.op(Op::FloorDiv, x, two); };
  CHECK(t.form(t.op(Op::Add, halved(t.op(Op::Sub, t.n, one)), one)) == t.form(halved(t.op(Op::Add, t.n, one))));
  CHECK(t.form(t.op(Op::Mul, t.n, t.m)) == t.form(t.op(Op::Mul, t.m, t.n)));
  CHECK(t.form(t.op(Op::Sub, t.op(Op::Add, t.n, t.m), t.n)) == t.m);
  CHECK(t.form(t.op(Op::FloorMod, t.op(Op::Mul, t.n, t.k(4)), two)) == t.k(0));
  CHECK(t.form(halved(t.op(Op::Mul, t.n, t.k(4)))) == t.form(t.op(Op::Add, t.n, t.n)));
  CHECK(t.form(halved(t.n)) != t.form(halved(t.op(Op::Add, t.n, one))));
  CHECK(t.form(t.op(Op::Mul, t.n, t.n)) != t.form(t.op(Op::Mul, t.n, t.m)));
  // Padded to a multiple of four, and cut to one.
  const UOpRef four = t.k(4), less = t.op(Op::Mul, t.n, t.k(-1));
  const UOpRef windows = t.op(Op::Mul, t.op(Op::FloorDiv, less, four), t.k(-4));
  CHECK(t.form(t.op(Op::Add, t.n, t.op(Op::FloorMod, less, four))) == t.form(windows));
  CHECK(t.form(t.op(Op::Sub, t.n, t.op(Op::FloorMod, t.n, four))) ==
        t.form(t.op(Op::Mul, t.op(Op::FloorDiv, t.n, four), four)));
}

TEST_CASE("what half of a length leaves is one quotient, and products of such are never negative") {
  Lengths t;
  const UOpRef one = t.k(1), two = t.k(2);
  const auto left = [&](UOpRef x) { return t.op(Op::Sub, x, t.op(Op::FloorDiv, x, two)); };
  const auto up = [&](UOpRef x) { return t.op(Op::FloorDiv, t.op(Op::Add, x, one), two); };
  CHECK(t.form(left(t.n)) == t.form(up(t.n)));
  CHECK(t.form(t.op(Op::Add, t.n, t.op(Op::FloorMod, t.n, two))) == t.form(t.op(Op::Mul, up(t.n), two)));
  const UOpRef odd = t.op(Op::Add, t.op(Op::FloorMod, t.n, two), t.op(Op::Add, t.n, one));
  CHECK(t.form(t.op(Op::FloorDiv, odd, two)) == t.form(up(t.n)));
  const UOpRef half = t.op(Op::FloorDiv, t.n, two), both = t.op(Op::Add, t.n, t.m);
  CHECK(t.form(t.op(Op::Add, half, up(t.n))) == t.n);
  CHECK(t.form(t.op(Op::Add, left(both), t.op(Op::FloorDiv, both, two))) == t.form(both));
  CHECK(t.form(t.op(Op::Add, t.n, half)) == t.form(t.op(Op::Sub, t.op(Op::Mul, t.n, two), up(t.n))));
  CHECK(t.form(t.op(Op::Add, t.n, left(t.n))) == t.form(t.op(Op::Sub, t.op(Op::Add, t.n, t.n), half)));
  CHECK(t.form(t.op(Op::Mul, left(t.n), left(t.m)))->bounds.min == 0);
  CHECK(is_at_least(t.g, t.op(Op::Mul, left(t.n), left(t.n)), one));
}

TEST_CASE("a length's form has the value of what was written") {
  Lengths t;
  std::mt19937 random(5);
  int changed = 0;
  for (int i = 0; i < 4000; ++i) {
    const UOpRef written = random_length(t, random, 4);
    const UOpRef form = t.form(written);
    changed += form != written ? 1 : 0;
    for (int point = 0; point < 8; ++point) {
      const hearth::test::Assignment at = {{t.n, 1 + static_cast<std::int64_t>(random() % 64)},
                                           {t.m, static_cast<std::int64_t>(random() % 10)}};
      const auto want = hearth::test::evaluate(written, at);
      REQUIRE(want.has_value());
      REQUIRE((hearth::test::evaluate(form, at) == want));
    }
    REQUIRE(t.form(form) == form);
  }
  CHECK(changed > 2000);
}

TEST_CASE("what would need too large coefficients or too many terms is left as it is") {
  Lengths t;
  const UOpRef huge = t.k(std::int64_t{1} << 60);
  UOpRef power = t.op(Op::Mul, t.n, huge);
  CHECK(t.form(power) == power);
  // Products of products: beyond 128 bits if they were multiplied out.
  UOpRef large = t.op(Op::Mul, t.n, t.k(std::int64_t{1} << 50));
  for (int i = 0; i < 5; ++i) large = t.op(Op::Mul, large, large);
  CHECK(t.form(large) == large);
  UOpRef wide = t.op(Op::Add, t.n, t.op(Op::Add, t.m, t.k(1)));
  for (int i = 0; i < 5; ++i) wide = t.op(Op::Mul, wide, wide);
  CHECK(t.form(wide) == wide);
}

TEST_CASE("at least: proved through forms, minima and maxima, and not claimed otherwise") {
  Lengths t;
  const UOpRef sum = t.op(Op::Add, t.n, t.m);
  CHECK(is_at_least(t.g, sum, t.n));
  CHECK_FALSE(is_at_least(t.g, t.n, sum));
  CHECK_FALSE(is_at_least(t.g, t.m, t.n));
  CHECK(is_at_least(t.g, t.n, t.op(Op::Min, t.n, t.m)));
  CHECK_FALSE(is_at_least(t.g, t.m, t.op(Op::Max, t.n, t.m)));
  CHECK(is_at_least(t.g, t.op(Op::Max, t.n, t.m), t.m));
  CHECK(is_at_least(t.g, t.op(Op::Mul, t.n, t.m), t.m));
}
