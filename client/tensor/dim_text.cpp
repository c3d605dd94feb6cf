#include "base/text.h"
#include "client/tensor/dim_terms.h"
#include "hearth/dim.h"

namespace hearth::client {

std::string operand_text(const Dim& dim) {
  const std::string text = dim.to_string();
  // What an operator is in already has parentheses around it.
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && i > 0 && (text[i] == '+' || text[i] == '-')) return str_cat("(", text, ")");
  }
  return text;
}

// "2*n*m-h+3": a number last, no sign twice.
std::string Dim::to_string() const {
  if (!poly_) return str_cat(value_);
  std::string text;
  auto append = [&](const Term& term) {
    const std::string number = str_cat(term.coefficient);
    const bool is_negative = number[0] == '-';
    if (!text.empty() && !is_negative) text += "+";
    if (term.factors.empty() || (term.coefficient != 1 && term.coefficient != -1)) {
      text += number;
      if (!term.factors.empty()) text += "*";
    } else if (is_negative) {
      text += "-";
    }
    for (std::size_t i = 0; i < term.factors.size(); ++i) str_append(&text, i > 0 ? "*" : "", term.factors[i]->shown);
  };
  for (const Term& term : poly_->terms) {
    if (!term.factors.empty()) append(term);
  }
  for (const Term& term : poly_->terms) {
    if (term.factors.empty()) append(term);
  }
  return text;
}

}  // namespace hearth::client
