#include "runtime/plan/expr.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/runtime/kernel_factory.h"

using hearth::runtime::Expr;
using hearth::runtime::PlanVariable;
using hearth::testing::push_const;
using hearth::testing::push_op;
using hearth::testing::push_var;
using Token = hearth::v1::ExprToken;

namespace {

const std::vector<PlanVariable> kVars = {{"n", 1, 100}, {"m", 0, 7}};

hearth::v1::Expr binary(Token::Kind op, std::int64_t constant) {
  hearth::v1::Expr expr;
  push_var(&expr, 0);
  push_const(&expr, constant);
  push_op(&expr, op);
  return expr;
}

}  // namespace

TEST_CASE("expressions evaluate and bound themselves") {
  const std::int64_t values[] = {37, 5};
  struct Case {
    Token::Kind op;
    std::int64_t constant, result, min, max;
  };
  for (const Case& c :
       {Case{Token::ADD, 5, 42, 6, 105}, Case{Token::SUB, 40, -3, -39, 60}, Case{Token::MUL, -2, -74, -200, -2},
        Case{Token::FLOORDIV, 8, 4, 0, 12}, Case{Token::FLOORMOD, 8, 5, 0, 7}, Case{Token::FLOORMOD, 200, 37, 1, 100},
        Case{Token::MIN, 20, 20, 1, 20}, Case{Token::MAX, 50, 50, 50, 100}}) {
    absl::StatusOr<Expr> expr = Expr::compile(binary(c.op, c.constant), kVars);
    REQUIRE(expr.ok());
    CHECK(expr->evaluate(values) == c.result);
    CHECK(expr->min() == c.min);
    CHECK(expr->max() == c.max);
  }
}

TEST_CASE("division and modulo round down for negative values") {
  hearth::v1::Expr wire;  // (m - 7) / 4 and (m - 7) % 4
  push_var(&wire, 1);
  push_const(&wire, 7);
  push_op(&wire, Token::SUB);
  push_const(&wire, 4);
  hearth::v1::Expr mod = wire;
  push_op(&wire, Token::FLOORDIV);
  push_op(&mod, Token::FLOORMOD);
  const std::int64_t values[] = {1, 2};  // m - 7 = -5
  CHECK(Expr::compile(wire, kVars)->evaluate(values) == -2);
  CHECK(Expr::compile(mod, kVars)->evaluate(values) == 3);
}

TEST_CASE("malformed expressions are refused by what is wrong") {
  auto message = [](const hearth::v1::Expr& wire) {
    return std::string(Expr::compile(wire, kVars).status().message());
  };
  CHECK_THAT(message({}), Catch::Contains("empty"));
  hearth::v1::Expr wire;
  push_op(&wire, Token::ADD);
  CHECK_THAT(message(wire), Catch::Contains("two operands"));
  wire.Clear();
  push_const(&wire, 1);
  push_const(&wire, 2);
  CHECK_THAT(message(wire), Catch::Contains("leaves 2 values"));
  wire.Clear();
  push_var(&wire, 9);
  CHECK_THAT(message(wire), Catch::Contains("variable 9 does not exist"));
  wire.Clear();
  push_const(&wire, 1);
  push_var(&wire, 1);
  push_op(&wire, Token::FLOORDIV);
  CHECK_THAT(message(wire), Catch::Contains("divisor may be zero"));
  CHECK_THAT(message(binary(Token::MUL, std::numeric_limits<std::int64_t>::max())), Catch::Contains("overflow"));
  CHECK_THAT(message(binary(static_cast<Token::Kind>(77), 1)), Catch::Contains("operator 77 is unknown"));
  wire.Clear();
  for (int i = 0; i < Expr::kMaxStack + 1; ++i) push_const(&wire, 1);
  CHECK_THAT(message(wire), Catch::Contains("nested deeper"));
  for (int i = 0; i < Expr::kMaxTokens; ++i) push_const(&wire, 1);
  CHECK_THAT(message(wire), Catch::Contains("tokens"));
}

TEST_CASE("a length is written as people write it") {
  const auto text = [](std::initializer_list<std::pair<Token::Kind, std::int64_t>> tokens,
                       const std::vector<PlanVariable>& vars = kVars) {
    hearth::v1::Expr wire;
    for (const auto& [kind, value] : tokens) {
      if (kind == Token::CONST) push_const(&wire, value);
      if (kind == Token::VAR) push_var(&wire, static_cast<std::uint32_t>(value));
      if (kind != Token::CONST && kind != Token::VAR) push_op(&wire, kind);
    }
    const absl::StatusOr<Expr> expr = Expr::compile(wire, vars);
    return expr.ok() ? expr->to_text(vars) : std::string(expr.status().message());
  };
  using Pair = std::pair<Token::Kind, std::int64_t>;
  const Pair n{Token::VAR, 0}, m{Token::VAR, 1}, two{Token::CONST, 2};
  const Pair add{Token::ADD, 0}, sub{Token::SUB, 0}, mul{Token::MUL, 0}, div{Token::FLOORDIV, 0}, most{Token::MAX, 0};
  CHECK(text({two}) == "2");
  CHECK(text({n}) == "n");
  CHECK(text({n, m, add}) == "n + m");
  CHECK(text({n, m, add, two, mul}) == "(n + m) * 2");
  CHECK(text({n, m, two, sub, sub}) == "n - (m - 2)");
  CHECK(text({n, two, mul, m, add}) == "n * 2 + m");
  CHECK(text({n, two, mul, two, div}) == "n");  // it is n
  CHECK(text({n, two, add, two, div}) == "(n + 2) / 2");
  CHECK(text({n, m, most}) == "max(n, m)");
  // A variable of multiples is written as itself.
  CHECK(text({n, two, div, two, mul}, {{"n", 2, 8, 2}}) == "n");
  CHECK(text({n, two, div, two, mul}, {{"n", 2, 8, 1}}) == "n / 2 * 2");
}
