#include "blobs/tools/integer_folding.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <limits>

namespace hearth::blobs {
namespace {

constexpr int kDeepest = 64;

struct Value {
  std::int64_t number = 0;
  bool is_bool = false;
};
using MaybeValue = std::optional<Value>;

// Arithmetic that fits, else nothing.
MaybeValue apply(std::string_view op, const Value& a, const Value& b) {
  std::int64_t r = 0;
  const auto boolean = [](bool value) { return Value{value, true}; };
  if (op == "||") return boolean(a.number || b.number);
  if (op == "&&") return boolean(a.number && b.number);
  if (op == "==") return boolean(a.number == b.number);
  if (op == "!=") return boolean(a.number != b.number);
  if (op == "<") return boolean(a.number < b.number);
  if (op == ">") return boolean(a.number > b.number);
  if (op == "<=") return boolean(a.number <= b.number);
  if (op == ">=") return boolean(a.number >= b.number);
  if (op == "|") return Value{a.number | b.number};
  if (op == "^") return Value{a.number ^ b.number};
  if (op == "&") return Value{a.number & b.number};
  if (op == "+") return __builtin_add_overflow(a.number, b.number, &r) ? MaybeValue() : Value{r};
  if (op == "-") return __builtin_sub_overflow(a.number, b.number, &r) ? MaybeValue() : Value{r};
  if (op == "*") return __builtin_mul_overflow(a.number, b.number, &r) ? MaybeValue() : Value{r};
  if (op == "/" || op == "%") {
    if (b.number == 0 || (a.number == std::numeric_limits<std::int64_t>::min() && b.number == -1)) return {};
    return Value{op == "/" ? a.number / b.number : a.number % b.number};
  }
  if (b.number < 0 || b.number > 62) return {};  // a shift
  if (op == ">>") return Value{a.number >> b.number};
  if (op != "<<" || a.number < 0 || a.number > (std::numeric_limits<std::int64_t>::max() >> b.number)) return {};
  return Value{a.number << b.number};
}

class Folder {
 public:
  explicit Folder(std::string_view text) : text_(text) {}

  MaybeValue run() {
    MaybeValue value = conditional();
    skip_space();
    return at_ == text_.size() ? value : MaybeValue();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view sign) {
    skip_space();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  MaybeValue conditional() {
    if (++depth_ > kDeepest) return {};
    MaybeValue condition = binary(0);
    if (condition && take("?")) {
      const MaybeValue yes = conditional();
      if (!yes || !take(":")) return {};
      const MaybeValue no = conditional();
      if (!no) return {};
      condition = condition->number ? yes : no;
    }
    --depth_;
    return condition;
  }

  // The operator of `level` that comes next, longest first; empty when there is none.
  std::string_view next_operator(int level) {
    static constexpr std::array<std::array<std::string_view, 4>, 10> kLevels = {{{"||"},
                                                                                 {"&&"},
                                                                                 {"|"},
                                                                                 {"^"},
                                                                                 {"&"},
                                                                                 {"==", "!="},
                                                                                 {"<=", ">=", "<", ">"},
                                                                                 {"<<", ">>"},
                                                                                 {"+", "-"},
                                                                                 {"*", "/", "%"}}};
    skip_space();
    for (const std::string_view op : kLevels[level]) {
      if (op.empty() || text_.substr(at_, op.size()) != op) continue;
      const char after = at_ + op.size() < text_.size() ? text_[at_ + op.size()] : '\0';
      if (op.size() == 1 && (op == "|" || op == "&" || op == "<" || op == ">") && after == op[0]) continue;
      if ((op == "<<" || op == ">>") && after == '=') continue;
      return op;
    }
    return {};
  }

  MaybeValue binary(int level) {
    if (level == 10) return unary();
    MaybeValue left = binary(level + 1);
    while (left) {
      const std::string_view op = next_operator(level);
      if (op.empty()) break;
      at_ += op.size();
      const MaybeValue right = binary(level + 1);
      if (!right) return {};
      left = apply(op, *left, *right);
    }
    return left;
  }

  MaybeValue unary() {
    if (++depth_ > kDeepest) return {};
    MaybeValue value;
    if (take("!")) {
      value = unary();
      if (value) value = Value{!value->number, true};
    } else if (take("~")) {
      value = unary();
      if (value) value = Value{~value->number};
    } else if (take("-")) {
      value = unary();
      if (value) value = apply("-", Value{0}, *value);
    } else if (take("+")) {
      value = unary();
      if (value) value->is_bool = false;
    } else if (take("(")) {
      value = conditional();
      if (!take(")")) return {};
    } else {
      value = literal();
    }
    --depth_;
    return value;
  }

  MaybeValue literal() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '\'' ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false") return Value{word == "true", true};
    return number(word);
  }

  static MaybeValue number(std::string_view word) {
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0]))) return {};
    int base = 10;
    if (word.starts_with("0x") || word.starts_with("0X")) base = 16;
    if (word.starts_with("0b") || word.starts_with("0B")) base = 2;
    if (base != 10) word.remove_prefix(2);
    if (base == 10 && word.size() > 1 && word[0] == '0') base = 8;
    std::uint64_t value = 0;
    bool any = false;
    std::size_t i = 0;
    for (; i < word.size(); ++i) {
      if (word[i] == '\'') continue;
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(word[i])));
      const int digit = c >= '0' && c <= '9' ? c - '0' : base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
      if (digit >= base) break;
      any = true;
      if (value > (static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - digit) / base) return {};
      value = value * base + digit;
    }
    for (const char c : word.substr(i))  // u, l, ll, z in any order
      if (c != 'u' && c != 'U' && c != 'l' && c != 'L' && c != 'z' && c != 'Z') return {};
    if (!any || word.size() - i > 3) return {};
    return Value{static_cast<std::int64_t>(value)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::string> fold_constant(std::string_view expression) {
  const MaybeValue value = Folder(expression).run();
  if (!value) return std::nullopt;
  if (value->is_bool) return value->number ? "true" : "false";
  return std::to_string(value->number);
}

}  // namespace hearth::blobs
