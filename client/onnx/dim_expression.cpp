#include "client/onnx/dim_expression.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace hearth::onnx {
namespace {

constexpr std::size_t kMaxText = 512;
constexpr int kMaxDepth = 32;  // of parentheses
constexpr std::int64_t kMaxPower = 4;

bool begins_name(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

}  // namespace

// Recursive descent; `ok_` is false from the first thing on that is no expression.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<DimExpression> parse() {
    if (text_.size() > kMaxText) return std::nullopt;
    sum(0);
    skip_spaces();
    if (!ok_ || at_ != text_.size() || result_.tokens_.size() < 2 || result_.names_.empty()) return std::nullopt;
    return std::move(result_);
  }

 private:
  void sum(int depth) {
    if (depth > kMaxDepth) ok_ = false;
    if (!ok_) return;
    if (take("-")) {
      push_number(0);
      product(depth);
      push('-');
    } else {
      product(depth);
    }
    while (ok_) {
      const char op = take("+") ? '+' : take("-") ? '-' : '\0';
      if (op == '\0') return;
      product(depth);
      push(op);
    }
  }

  void product(int depth) {
    power(depth);
    while (ok_) {
      if (at_ + 1 < text_.size() && text_.substr(at_).starts_with("**")) return;
      const char op = take("*") ? '*' : take("//") || take("/") ? '/' : take("%") ? '%' : '\0';
      if (op == '\0') return;
      power(depth);
      push(op);
    }
  }

  void power(int depth) {
    const std::size_t begin = result_.tokens_.size();
    factor(depth);
    if (!ok_ || !take("**")) return;
    skip_spaces();
    const std::optional<std::int64_t> exponent = number();
    if (!exponent || *exponent < 1 || *exponent > kMaxPower) {
      ok_ = false;
      return;
    }
    const std::vector<DimExpression::Token> base(result_.tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 result_.tokens_.end());
    for (std::int64_t i = 1; i < *exponent; ++i) {
      result_.tokens_.insert(result_.tokens_.end(), base.begin(), base.end());
      push('*');
    }
  }

  void factor(int depth) {
    skip_spaces();
    if (at_ == text_.size()) {
      ok_ = false;
    } else if (take("(")) {
      sum(depth + 1);
      ok_ = ok_ && take(")");
    } else if (const std::optional<std::int64_t> value = number()) {
      push_number(*value);
    } else if (begins_name(text_[at_])) {
      name_or_call(depth);
    } else {
      ok_ = false;
    }
  }

  void name_or_call(int depth) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (!take("(")) {
      result_.tokens_.push_back({'a', 0, name});
      result_.names_.insert(name);
      return;
    }
    const std::string called = absl::AsciiStrToLower(name);
    const char op = called == "max" ? 'M' : called == "min" ? 'm' : called == "mod" ? '%' : '\0';
    sum(depth + 1);
    if (called == "floor") {  // quotients are rounded down as they are
      ok_ = ok_ && take(")");
      return;
    }
    ok_ = ok_ && op != '\0' && take(",");
    if (!ok_) return;
    sum(depth + 1);
    push(op);
    while (ok_ && op != '%' && take(",")) {
      sum(depth + 1);
      push(op);
    }
    ok_ = ok_ && take(")");
  }

  std::optional<std::int64_t> number() {
    const std::size_t begin = at_;
    std::size_t end = begin;
    while (end < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    std::int64_t value = 0;
    if (end == begin || !absl::SimpleAtoi(absl::string_view(text_.data() + begin, end - begin), &value))
      return std::nullopt;
    at_ = end;
    return value;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view what) {
    skip_spaces();
    if (!ok_ || !text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void push(char op) { result_.tokens_.push_back({op, 0, ""}); }
  void push_number(std::int64_t value) { result_.tokens_.push_back({'0', value, ""}); }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ok_ = true;
  DimExpression result_;
};

std::optional<DimExpression> DimExpression::parse(std::string_view text) { return DimParser(text).parse(); }

client::Dim DimExpression::evaluate(const std::function<client::Dim(const std::string&)>& value_of) const {
  std::vector<client::Dim> stack;
  for (const Token& token : tokens_) {
    if (token.kind == '0' || token.kind == 'a') {
      stack.push_back(token.kind == '0' ? client::Dim(token.number) : value_of(token.name));
      continue;
    }
    const client::Dim b = stack.back();
    stack.pop_back();
    client::Dim& a = stack.back();
    switch (token.kind) {
      case '+':
        a = a + b;
        break;
      case '-':
        a = a - b;
        break;
      case '*':
        a = a * b;
        break;
      case '/':
        a = a / b;
        break;
      case '%':
        a = a % b;
        break;
      case 'M':
        a = max(a, b);
        break;
      default:
        a = min(a, b);
        break;
    }
  }
  return stack.back();
}

void DimNames::add(const std::string& name) {
  if (std::optional<DimExpression> expression = DimExpression::parse(name)) {
    expressions_.emplace(name, *std::move(expression));
  } else {
    plain_.insert(name);
  }
}

const DimExpression* DimNames::expression(const std::string& name) const {
  const auto found = expressions_.find(name);
  if (found == expressions_.end()) return nullptr;
  const auto is_plain = [&](const std::string& part) { return plain_.count(part) != 0; };
  return std::ranges::all_of(found->second.names(), is_plain) ? &found->second : nullptr;
}

}  // namespace hearth::onnx
