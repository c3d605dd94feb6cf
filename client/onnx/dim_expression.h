// Lengths that a file names by an expression of others, as exporters write them: "past + sequence", "2*s0 - 1",
// "s0//2", "Max(1, s0)", "floor(s/2 - 1/2) + 1". Value types, thread-safe.
//
//   DimNames names;
//   names.add("p + s"); names.add("p"); names.add("s");
//   const DimExpression* sum = names.expression("p + s");       // null for "p"
//   client::Dim length = sum->evaluate([&](const std::string& name) { return dims.at(name); });
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dim.h"

namespace hearth::onnx {

// Integers, names, + - * / // % and powers by numbers, parentheses, Max, Min, Mod, floor and ceiling. "/" keeps its
// remainder until it is rounded: floor(s/2 + 1/2) is (s + 1)//2. What is left at the end is rounded down.
class DimExpression {
 public:
  // Nothing where the text is no expression, or a name or a number alone.
  static std::optional<DimExpression> parse(std::string_view text);

  const std::set<std::string>& names() const { return names_; }
  // JitError where it divides by what may not be positive, or overflows.
  client::Dim evaluate(const std::function<client::Dim(const std::string&)>& value_of) const;

 private:
  friend class DimParser;
  struct Token {  // postfix: '0' pushes the number, 'a' the name's value; 'f' and 'c' take one, others two
    char kind = '0';
    std::int64_t number = 0;
    std::string name;
  };
  std::vector<Token> tokens_;
  std::set<std::string> names_;
};

// Whether a length may be written so: an expression, or the name of another length.
bool is_dim_expression(const std::string& text);

// The names of a model's symbolic lengths, and which of them are expressions of the others.
class DimNames {
 public:
  void add(const std::string& name);
  // `name`, which was added, is `text` of others. Null where that is no expression.
  const DimExpression* define(const std::string& name, const std::string& text);
  const std::set<std::string>& plain() const { return plain_; }
  // Null for a length of its own: also where an expression has a name that no length of the model has, since then
  // nothing says what that name is.
  const DimExpression* expression(const std::string& name) const;

 private:
  std::set<std::string> plain_;
  std::map<std::string, DimExpression> expressions_;  // those that parse
};

}  // namespace hearth::onnx
