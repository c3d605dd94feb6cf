#include "client/onnx/dim_expression.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {
namespace {

constexpr std::size_t kMaxText = 512;
constexpr int kMaxDepth = 32;  // of parentheses
constexpr std::int64_t kMaxPower = 4;

bool begins_name(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// As sympy and PyTorch print them, in small letters.
const std::map<std::string, char>& functions_by_name() {
  static const std::map<std::string, char> functions = {{"max", 'M'},        {"min", 'm'},      {"mod", '%'},
                                                        {"pythonmod", '%'},  {"floordiv", 'd'}, {"cleandiv", 'd'},
                                                        {"inttruediv", '/'}, {"floor", 'f'},    {"floortoint", 'f'},
                                                        {"ceil", 'c'},       {"ceiling", 'c'},  {"ceiltoint", 'c'}};
  return functions;
}

// A length on its way: numerator / denominator.
struct Quotient {
  client::Dim numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kMaxDenominator = std::int64_t{1} << 31;

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  if (a > kMaxDenominator / b) reject("the quotients of a length have too large a common denominator");
  return a * b;
}

client::Dim floor_of(const Quotient& x) {
  return x.denominator == 1 ? x.numerator : x.numerator / client::Dim(x.denominator);
}

Quotient combined(char op, const Quotient& a, const Quotient& b) {
  if (op == '*') return {a.numerator * b.numerator, product_of(a.denominator, b.denominator)};
  const bool is_alike = a.denominator == b.denominator;
  const client::Dim x = is_alike ? a.numerator : a.numerator * client::Dim(b.denominator);
  const client::Dim y = is_alike ? b.numerator : b.numerator * client::Dim(a.denominator);
  const std::int64_t shared = is_alike ? a.denominator : product_of(a.denominator, b.denominator);
  switch (op) {
    case '+':
      return {x + y, shared};
    case '-':
      return {x - y, shared};
    case '%':
      return {x % y, shared};
    case 'M':
      return {max(x, y), shared};
    case 'm':
      return {min(x, y), shared};
    case '/':
      if (b.numerator.is_const() && b.numerator.value() > 0 && b.numerator.value() <= kMaxDenominator) {
        return {a.numerator * client::Dim(b.denominator), product_of(a.denominator, b.numerator.value())};
      }
      return {x / y};
    default:
      return {x / y};
  }
}

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
      const char op = take("*") ? '*' : take("//") ? 'd' : take("/") ? '/' : take("%") ? '%' : '\0';
      if (op == '\0') return;
      power(depth);
      push(op);
    }
  }

  void power(int depth) {
    const std::size_t begin = result_.tokens_.size();
    factor(depth);
    if (!ok_ || (!take("**") && !take("^"))) return;
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
    const std::map<std::string, char>& functions = functions_by_name();
    const auto function = functions.find(absl::AsciiStrToLower(name));
    sum(depth + 1);
    ok_ = ok_ && function != functions.end();
    if (!ok_) return;
    const char op = function->second;
    const bool is_unary = op == 'f' || op == 'c', takes_many = op == 'M' || op == 'm';
    if (is_unary) push(op);
    ok_ = is_unary || take(",");
    for (bool more = !is_unary; ok_ && more; more = takes_many && take(",")) {
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
  std::vector<Quotient> stack;
  for (const Token& token : tokens_) {
    if (token.kind == '0' || token.kind == 'a') {
      stack.push_back({token.kind == '0' ? client::Dim(token.number) : value_of(token.name)});
      continue;
    }
    const Quotient b = stack.back();
    if (token.kind == 'f') {
      stack.back() = {floor_of(b)};
    } else if (token.kind == 'c') {
      stack.back() = {floor_of({b.numerator + client::Dim(b.denominator - 1), b.denominator})};
    } else {
      stack.pop_back();
      stack.back() = combined(token.kind, stack.back(), b);
    }
  }
  return floor_of(stack.back());
}

void DimNames::add(const std::string& name) {
  if (std::optional<DimExpression> expression = DimExpression::parse(name)) {
    expressions_.emplace(name, *std::move(expression));
  } else {
    plain_.insert(name);
  }
}

// A name alone is no expression, but may stand where one is given.
static std::optional<DimExpression> given_expression(const std::string& text) {
  std::optional<DimExpression> expression = DimExpression::parse(str_cat("(", text, ") + 0"));
  if (expression && expression->names().empty()) expression.reset();
  return expression;
}

bool is_dim_expression(const std::string& text) { return given_expression(text).has_value(); }

const DimExpression* DimNames::define(const std::string& name, const std::string& text) {
  std::optional<DimExpression> expression = given_expression(text);
  if (!expression) return nullptr;
  plain_.erase(name);
  return &expressions_.insert_or_assign(name, *std::move(expression)).first->second;
}

const DimExpression* DimNames::expression(const std::string& name) const {
  const auto found = expressions_.find(name);
  if (found == expressions_.end()) return nullptr;
  const auto is_plain = [&](const std::string& part) { return plain_.count(part) != 0; };
  return std::ranges::all_of(found->second.names(), is_plain) ? &found->second : nullptr;
}

}  // namespace hearth::onnx
