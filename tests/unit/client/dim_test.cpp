#include "hearth/dim.h"

#include "hearth/input_spec.h"

#include <catch2/catch.hpp>

#include "client/tensor/dim_encoding.h"
#include "hearth/error.h"
#include "hearth/v1/graph.pb.h"
#include "runtime/plan/expr.h"

using hearth::client::Dim;
using hearth::client::JitError;
using hearth::client::Variable;

namespace {

const Dim n = Dim::variable("n", 1, 100);
const Dim m = Dim::variable("m", 0, 7);

std::int64_t evaluate(const Dim& dim, std::int64_t n_value, std::int64_t m_value) {
  std::vector<Variable> vars = {{"n", 1, 100}, {"m", 0, 7}};
  hearth::v1::Expr wire;
  encode(dim, vars, &wire);
  absl::StatusOr<hearth::runtime::Expr> expr = hearth::runtime::Expr::compile(wire, {{"n", 1, 100}, {"m", 0, 7}});
  REQUIRE(expr.ok());
  const std::int64_t values[] = {n_value, m_value};
  return expr->evaluate(values);
}

}  // namespace

TEST_CASE("lengths are of any integer type, as containers give them") {
  const std::vector<float> samples(512);
  const auto spec = hearth::client::InputSpec::f32({1, samples.size(), 3u, 4ll});
  CHECK(spec.shape == std::vector<std::int64_t>{1, 512, 3, 4});
  CHECK_THROWS_WITH(Dim(~std::uint64_t{0}), Catch::Contains("18446744073709551615"));
}

TEST_CASE("a length reads as it is computed: sums in parentheses, no sign twice") {
  CHECK(((n + 1) / 2).to_string() == "((n+1) / 2)");
  CHECK((((n + 1) / 2 + 2) / 3).to_string() == "((((n+1) / 2)+2) / 3)");
  CHECK((n - 1).to_string() == "n-1");
  CHECK((n * 2 - m * 3 + 4).to_string() == "-3*m+2*n+4");
  CHECK((n * m - m).to_string() == "-m+m*n");
  CHECK((n * 2 / 3).to_string() == "(2*n / 3)");
}

TEST_CASE("equal dims have one normal form") {
  CHECK(n * 2 + n == 3 * n);
  CHECK((n + 1) * (n + 1) == n * n + 2 * n + 1);
  CHECK(n * m == m * n);
  CHECK(n - n == Dim(0));
  CHECK((n * 8) / 8 == n);
  CHECK((n * m) / n == m);
  CHECK((n * 8 + 3) / 8 == n);
  CHECK((n * 8 + 11) % 8 == Dim(3));
  CHECK(n / n == Dim(1));
  CHECK(m / 8 == Dim(0));
  CHECK(m % 8 == m);
  CHECK(min(n, n + 5) == n);
  CHECK(max(n, m + 200) == m + 200);
  CHECK(Dim(7) / 2 == Dim(3));
  CHECK(Dim::variable("k", 4, 4) == Dim(4));
  CHECK_FALSE(n == m);
  CHECK_FALSE(n / 2 == n / 3);
}

TEST_CASE("what is padded or cut to a multiple divides without remainder, as torch writes it") {
  for (const Dim& x : {n, n / 2, 3 * n + m}) {
    for (const Dim& more : {(0 - x) % 4, (4 - x % 4) % 4, (8 - x % 8) % 4}) {
      const Dim padded = x + more, windows = padded / 4;
      CHECK(padded == windows * 4);
      CHECK(padded % 4 == Dim(0));
      CHECK(padded.min() >= x.min());
      CHECK(padded.max() <= x.max() + 3);
    }
    CHECK(x - x % 4 == x / 4 * 4);
    CHECK_FALSE(x + x % 4 == x / 4 * 4);
  }
  for (std::int64_t a : {1, 2, 3, 4, 37, 100}) {
    for (std::int64_t b : {0, 3, 7}) {
      const std::int64_t x = 3 * a + b;
      CHECK(evaluate(3 * n + m + (4 - (3 * n + m) % 4) % 4, a, b) == (x + 3) / 4 * 4);
      CHECK(evaluate(n - n % 6, a, b) == a / 6 * 6);
      CHECK(evaluate((n % 8 + m) % 4, a, b) == (a + b) % 4);
      CHECK(evaluate((n % 6 + m) % 4, a, b) == (a % 6 + b) % 4);
      CHECK(evaluate((2 * (n % 6) + m) % 4, a, b) == (2 * (a % 6) + b) % 4);
      CHECK(evaluate(2 * (n % 3) - 2 * n + 6, a, b) == 2 * (a % 3) - 2 * a + 6);
    }
  }
}

TEST_CASE("what half of a length leaves is one quotient, however it is written") {
  const Dim up = (n + 1) / 2, half = n / 2;
  CHECK(n - n / 2 == up);
  CHECK(n + n % 2 == 2 * up);
  CHECK((n % 2 + n + 1) / 2 == up);
  CHECK(2 * n - 2 * (n / 2) + m == 2 * up + m);
  CHECK(half - half / 2 == (half + 1) / 2);
  CHECK(((n - half) * ((m + 3) - (m + 3) / 2)).min() == 2);  // a product that is never negative
  CHECK((n - 2 * (n / 2)).min() == 0);
  // What a Split into halves and a Concat of them give.
  CHECK(half + up == n);
  CHECK(3 * up + 3 * half + m == 3 * n + m);
  CHECK(Dim(0) - half - up == Dim(0) - n);
  CHECK((n + m) / 2 + (n + m + 1) / 2 == n + m);
  CHECK(half / 2 + (half + 1) / 2 + up == n);
  CHECK(n + half == 2 * n - up);
  CHECK(2 * n - half == n + up);
  CHECK(up - half == n - 2 * half);
  CHECK(half + up - m * half - m * up == n - m * half - m * up);
  for (const std::int64_t a : {1, 2, 7, 99, 100}) {
    for (const std::int64_t b : {0, 1, 6, 7}) {
      CHECK(evaluate(n - n / 2, a, b) == (a + 1) / 2);
      CHECK(evaluate(3 * n + m - 3 * (n / 2), a, b) == 3 * ((a + 1) / 2) + b);
      CHECK(evaluate(5 * (n % 2) + 5 * n - m, a, b) == 5 * (a % 2 + a) - b);
      CHECK(evaluate((n + m) - (n + m) / 2, a, b) == a + b - (a + b) / 2);
      CHECK(evaluate((n + m + 1) % 2 + n + m, a, b) == (a + b + 1) % 2 + a + b);
      CHECK(evaluate(n / 2 - n, a, b) == a / 2 - a);
      for (int whole = -2; whole <= 2; ++whole)
        for (int down = -3; down <= 3; ++down)
          for (int more = -3; more <= 3; ++more)
            CHECK(evaluate(whole * (n + m) + down * ((n + m) / 2) + more * ((n + m + 1) / 2) + n, a, b) ==
                  whole * (a + b) + down * ((a + b) / 2) + more * ((a + b + 1) / 2) + a);
    }
  }
}

TEST_CASE("bounds follow the variables") {
  CHECK((n + 7).min() == 8);
  CHECK((n + 7).max() == 107);
  CHECK(((n + 7) / 8).max() == 13);
  CHECK((n % 8).max() == 7);
  CHECK((n * m).max() == 700);
  CHECK((Dim(0) - n).min() == -100);
}

TEST_CASE("encoded dims evaluate to what was written") {
  for (std::int64_t a : {1, 2, 37, 100}) {
    for (std::int64_t b : {0, 3, 7}) {
      CHECK(evaluate(n * 3 + m * m - 5, a, b) == a * 3 + b * b - 5);
      CHECK(evaluate((n + 7) / 8 * 4, a, b) == (a + 7) / 8 * 4);
      CHECK(evaluate(n % 5 + min(n, m), a, b) == a % 5 + std::min(a, b));
      CHECK(evaluate(max(n, m) * 2, a, b) == std::max(a, b) * 2);
    }
  }
}

TEST_CASE("common factors and minima show what interval bounds alone do not") {
  const Dim b = Dim::variable("b", 1, 64), t = Dim::variable("t", 1, 40);
  CHECK((b * t - b).min() == 0);
  CHECK((b * t - b).max() == 64 * 39);
  CHECK((b * t - b) == b * (t - 1));
  CHECK((t - 3) / 2 + 1 == (t - 1) / 2);
  CHECK(is_at_least(t, min(t, Dim(3))));
  CHECK(is_at_least(max(b, t), t));
  CHECK(is_at_least(t, max(min(t, Dim(3)), Dim(1))));
  CHECK(is_at_least(b * t, b));
  CHECK_FALSE(is_at_least(t, b));
  CHECK_FALSE(is_at_least(t, max(t, Dim(3))));
  CHECK_FALSE(is_at_least(min(t, Dim(3)), t));
  // The wire has b*(t - 1), whose bounds a reader finds to be the same.
  std::vector<Variable> vars;
  (b * t - b).collect_variables(vars);
  hearth::v1::Expr wire;
  encode(b * t - b, vars, &wire);
  const auto read = hearth::runtime::Expr::compile(
      wire, {{vars[0].name, vars[0].min, vars[0].max}, {vars[1].name, vars[1].min, vars[1].max}});
  REQUIRE(read.ok());
  CHECK(read->min() == 0);
  const std::int64_t values[] = {7, 5};
  CHECK(read->evaluate(values) == (vars[0].name == "b" ? 7 * 4 : 5 * 6));
}

TEST_CASE("parts of a range belong to the variable") {
  const Dim parts = Dim::variable("batch", 1, 8, {.ends = {1, 4, 8}}), whole = Dim::variable("batch", 1, 8);
  CHECK(parts + 1 == 1 + parts);
  CHECK_FALSE(parts == whole);
  std::vector<Variable> vars;
  (parts * 2).collect_variables(vars);
  REQUIRE(vars.size() == 1);
  CHECK(vars[0].parts.ends == std::vector<std::int64_t>{1, 4, 8});
  CHECK_THROWS_WITH(whole.collect_variables(vars),
                    Catch::Contains("has bounds [1, 8] in parts 1,4,8 and [1, 8]; use one name"));
  const auto refused = [](hearth::client::RangeParts its, const std::string& why) {
    CHECK_THROWS_WITH(Dim::variable("batch", 1, 8, std::move(its)), Catch::Contains(why));
  };
  refused({.ends = {4, 1, 8}}, "'batch' from 1 to 8 in parts 4,1,8: 1 stands behind 4; they ascend");
  refused({.ends = {4, 4, 8}}, "4 stands behind 4");
  refused({.ends = {4}}, "the last one is not the greatest value");
  refused({.points = {0}}, "in parts @0: 0 lies outside of the range");
  refused({.ends = {8}, .points = {1}}, "give ends or points, not both");
}

TEST_CASE("lengths that are multiples divide without remainder by their unit's factors") {
  const Dim h = Dim::multiple("h", 32, 32, 960);
  CHECK((h + 1) / 2 == h / 2);
  CHECK(((h - 1) / 2 + 1) * 2 == h);
  CHECK(h / 32 * 32 == h);
  CHECK((h / 4 - 1) / 8 + 1 == h / 32);
  CHECK(h.min() == 32);
  CHECK(h.max() == 960);
  CHECK_FALSE(h / 64 * 64 == h);
  std::vector<Variable> vars;
  h.collect_variables(vars);
  REQUIRE(vars.size() == 1);
  CHECK((vars[0].name == "h" && vars[0].min == 32 && vars[0].max == 960 && vars[0].unit == 32));
  CHECK_THROWS_WITH(Dim::multiple("h", 32, 1, 960),
                    Catch::Contains("'h' from 1 to 960 by 32: its ends are no multiples"));
  CHECK_THROWS_WITH(Dim::multiple("h", 32, 32, 96, {.points = {40}}), Catch::Contains("40 is no multiple of 32"));
}

TEST_CASE("impossible dims are refused") {
  CHECK_THROWS_AS(n / m, JitError);
  CHECK_THROWS_AS(n.value(), JitError);
  CHECK_THROWS_AS(Dim::variable("", 0, 1), JitError);
  CHECK_THROWS_AS(Dim::variable("x", 3, 1), JitError);
  CHECK_THROWS_AS(Dim(std::int64_t{1} << 62) * 4, JitError);
  CHECK_THROWS_AS(Dim::variable("big", 0, std::int64_t{1} << 62) * n, JitError);
  std::vector<Variable> vars;
  n.collect_variables(vars);
  CHECK_THROWS_WITH(Dim::variable("n", 0, 5).collect_variables(vars), Catch::Contains("variable 'n' has bounds"));
}
