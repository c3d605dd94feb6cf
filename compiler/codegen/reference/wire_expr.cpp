#include "compiler/codegen/reference/wire_expr.h"

#include <algorithm>
#include <vector>

namespace hearth::codegen::reference {

std::int64_t evaluate(const v1::Expr& expr, std::span<const std::int64_t> vars) {
  std::vector<std::int64_t> stack;
  for (const v1::ExprToken& token : expr.tokens()) {
    if (token.kind() == v1::ExprToken::CONST || token.kind() == v1::ExprToken::VAR) {
      stack.push_back(token.kind() == v1::ExprToken::CONST ? token.value() : vars[token.value()]);
      continue;
    }
    const std::int64_t b = stack.back();
    stack.pop_back();
    std::int64_t& a = stack.back();
    const auto floor = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
    switch (token.kind()) {
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
        a = floor();
        break;
      case v1::ExprToken::FLOORMOD:
        a -= floor() * b;
        break;
      case v1::ExprToken::MIN:
        a = std::min(a, b);
        break;
      default:
        a = std::max(a, b);
        break;
    }
  }
  return stack.empty() ? 1 : stack.back();
}

}  // namespace hearth::codegen::reference
