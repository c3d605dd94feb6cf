#include "runtime/plan/expr.h"

#include <algorithm>
#include <limits>

#include "base/integer_math.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

using Wide = __int128;

struct Interval {
  Wide low = 0;
  Wide high = 0;
};

Interval corners(Wide a, Wide b, Wide c, Wide d) { return {std::min({a, b, c, d}), std::max({a, b, c, d})}; }

Interval divide(const Interval& a, const Interval& b) {
  auto at = [](Wide x, Wide y) { return Wide{floor_div(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y))}; };
  return corners(at(a.low, b.low), at(a.low, b.high), at(a.high, b.low), at(a.high, b.high));
}

bool fits(const Interval& value) {
  return value.low >= std::numeric_limits<std::int64_t>::min() &&
         value.high <= std::numeric_limits<std::int64_t>::max();
}

// As tight as the compiler's (compiler/ir/bounds.cpp), whose max_bytes are compared with what follows from this.
Interval modulo(const Interval& a, const Interval& b) {
  if (a.low == a.high && b.low == b.high) {
    const auto value = floor_mod(static_cast<std::int64_t>(a.low), static_cast<std::int64_t>(b.low));
    return {value, value};
  }
  if (a.low >= 0 && a.high < b.low) return a;
  return {0, a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1};
}

}  // namespace

absl::StatusOr<Expr> Expr::compile(const v1::Expr& wire, const std::vector<PlanVariable>& vars) {
  if (wire.tokens_size() == 0) return absl::InvalidArgumentError("the expression is empty");
  if (wire.tokens_size() > kMaxTokens) {
    return absl::InvalidArgumentError(
        str_cat("the expression has ", wire.tokens_size(), " tokens; at most ", kMaxTokens, " are allowed"));
  }
  Expr expr;
  Interval stack[kMaxStack];
  int depth = 0;
  for (int i = 0; i < wire.tokens_size(); ++i) {
    const v1::ExprToken& token = wire.tokens(i);
    auto error = [&](auto&&... what) { return absl::InvalidArgumentError(str_cat("token ", i, ": ", what...)); };
    expr.tokens_.push_back({token.kind(), token.value()});
    if (token.kind() == v1::ExprToken::CONST || token.kind() == v1::ExprToken::VAR) {
      if (depth == kMaxStack) return error("the expression is nested deeper than ", kMaxStack);
      if (token.kind() == v1::ExprToken::CONST) {
        stack[depth++] = {token.value(), token.value()};
        continue;
      }
      if (token.value() < 0 || token.value() >= static_cast<std::int64_t>(vars.size())) {
        return error("variable ", token.value(), " does not exist; the plan has ", vars.size());
      }
      const PlanVariable& variable = vars[static_cast<std::size_t>(token.value())];
      stack[depth++] = {variable.min, variable.max};
      continue;
    }
    if (depth < 2) return error("an operator needs two operands and has ", depth);
    const Interval b = stack[--depth], a = stack[--depth];
    Interval result;
    switch (token.kind()) {
      case v1::ExprToken::ADD:
        result = {a.low + b.low, a.high + b.high};
        break;
      case v1::ExprToken::SUB:
        result = {a.low - b.high, a.high - b.low};
        break;
      case v1::ExprToken::MUL:
        result = corners(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
        break;
      case v1::ExprToken::FLOORDIV:
      case v1::ExprToken::FLOORMOD:
        if (b.low < 1) return error("the divisor may be zero or negative");
        result = token.kind() == v1::ExprToken::FLOORDIV ? divide(a, b) : modulo(a, b);
        break;
      case v1::ExprToken::MIN:
        result = {std::min(a.low, b.low), std::min(a.high, b.high)};
        break;
      case v1::ExprToken::MAX:
        result = {std::max(a.low, b.low), std::max(a.high, b.high)};
        break;
      default:
        return error("operator ", static_cast<int>(token.kind()), " is unknown to this version");
    }
    if (!fits(result)) return error("the value may overflow 64 bits");
    stack[depth++] = result;
  }
  if (depth != 1) {
    return absl::InvalidArgumentError(str_cat("the expression leaves ", depth, " values; expected one"));
  }
  expr.min_ = static_cast<std::int64_t>(stack[0].low);
  expr.max_ = static_cast<std::int64_t>(stack[0].high);
  return expr;
}

bool Expr::uses(std::size_t variable) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const Token& token) {
    return token.kind == v1::ExprToken::VAR && static_cast<std::size_t>(token.value) == variable;
  });
}

std::string Expr::to_text(const std::vector<PlanVariable>& vars) const {
  // A variable of multiples is written as its quotient by the unit, times that.
  std::vector<std::int64_t> values;
  for (const PlanVariable& variable : vars) values.push_back(variable.min);
  for (std::size_t v = 0; v < vars.size(); ++v) {
    const auto is_at = [&](std::int64_t value) {
      values[v] = value;
      const bool is = evaluate(values.data()) == value;
      values[v] = vars[v].min;
      return is;
    };
    bool is_alone = vars[v].min < vars[v].max && uses(v);
    for (std::size_t other = 0; other < vars.size(); ++other) is_alone = is_alone && (other == v || !uses(other));
    if (is_alone && is_at(vars[v].min) && is_at(vars[v].min + vars[v].unit) && is_at(vars[v].max)) return vars[v].name;
  }
  const auto sign = [](v1::ExprToken::Kind kind) -> std::string_view {
    switch (kind) {
      case v1::ExprToken::ADD:
        return " + ";
      case v1::ExprToken::SUB:
        return " - ";
      case v1::ExprToken::MUL:
        return " * ";
      case v1::ExprToken::FLOORDIV:
        return " / ";
      case v1::ExprToken::FLOORMOD:
        return " % ";
      default:
        return "";
    }
  };
  struct Part {
    std::string text;
    bool is_sum = false, is_single = true;
  };
  std::vector<Part> stack;
  for (const Token& token : tokens_) {
    if (token.kind == v1::ExprToken::CONST || token.kind == v1::ExprToken::VAR) {
      const bool is_const = token.kind == v1::ExprToken::CONST;
      stack.push_back({is_const ? str_cat(token.value) : vars[static_cast<std::size_t>(token.value)].name});
      continue;
    }
    const Part b = std::move(stack.back());
    stack.pop_back();
    Part& a = stack.back();
    if (sign(token.kind).empty()) {
      a = {str_cat(token.kind == v1::ExprToken::MIN ? "min(" : "max(", a.text, ", ", b.text, ")")};
      continue;
    }
    const bool is_sum = token.kind == v1::ExprToken::ADD || token.kind == v1::ExprToken::SUB;
    const auto inside = [&](const Part& part, bool bare) { return bare ? part.text : str_cat("(", part.text, ")"); };
    const bool bare_left = a.is_single || is_sum || (!a.is_sum && token.kind == v1::ExprToken::MUL);
    a = {str_cat(inside(a, bare_left), sign(token.kind), inside(b, b.is_single || token.kind == v1::ExprToken::ADD)),
         is_sum, false};
  }
  return stack.back().text;
}

std::int64_t Expr::evaluate(const std::int64_t* values) const {
  if (min_ == max_) return min_;
  std::int64_t stack[kMaxStack];
  int depth = 0;
  for (const Token& token : tokens_) {
    if (token.kind == v1::ExprToken::CONST) {
      stack[depth++] = token.value;
      continue;
    }
    if (token.kind == v1::ExprToken::VAR) {
      stack[depth++] = values[token.value];
      continue;
    }
    const std::int64_t b = stack[--depth];
    std::int64_t& a = stack[depth - 1];
    switch (token.kind) {
      case v1::ExprToken::ADD:
        a += b;
        break;
      case v1::ExprToken::SUB:
        a -= b;
        break;
      case v1::ExprToken::MUL:
        a *= b;
        break;
      case v1::ExprToken::FLOORDIV:
        a = floor_div(a, b);
        break;
      case v1::ExprToken::FLOORMOD:
        a = floor_mod(a, b);
        break;
      case v1::ExprToken::MIN:
        a = std::min(a, b);
        break;
      default:
        a = std::max(a, b);
        break;
    }
  }
  return stack[0];
}

}  // namespace hearth::runtime
