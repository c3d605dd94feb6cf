#include "compiler/rules/linear_form.h"

#include <algorithm>
#include <limits>

#include "compiler/rewrite/order.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::size_t kMaxTerms = 64;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

bool single_value(UOpRef node) {
  return node->bounds.min == node->bounds.max && node->bounds.min != kMin && node->bounds.max != kMax;
}

// A multiple of a smaller expression: `node` = `rest` * `factor`.
bool split_multiple(UOpRef node, UOpRef& rest, std::int64_t& factor) {
  if (!node->is(Op::Mul)) return false;
  for (int s = 0; s < 2; ++s) {
    if (node->source(s)->is_const()) {
      rest = node->source(1 - s);
      factor = node->source(s)->int_value();
      return true;
    }
  }
  return false;
}

}  // namespace

bool LinearForm::add_constant(std::int64_t value, std::int64_t factor) {
  std::int64_t scaled;
  return !__builtin_mul_overflow(value, factor, &scaled) && !__builtin_add_overflow(constant, scaled, &constant);
}

bool LinearForm::add_atom(UOpRef atom, std::int64_t factor) {
  if (factor == 0) return true;
  if (factor == kMin) return false;
  auto at = std::lower_bound(terms.begin(), terms.end(), atom,
                             [](const Term& term, UOpRef node) { return rewrite::compare_nodes(term.atom, node) < 0; });
  if (at == terms.end() || at->atom != atom) {
    if (terms.size() >= kMaxTerms) return false;
    terms.insert(at, Term{atom, factor});
    return true;
  }
  if (__builtin_add_overflow(at->factor, factor, &at->factor) || at->factor == kMin) return false;
  if (at->factor == 0) terms.erase(at);
  return true;
}

bool LinearForm::add(UOpRef root, std::int64_t root_factor) {
  absl::InlinedVector<Term, 8> stack = {{root, root_factor}};
  for (int steps = 0; !stack.empty(); ++steps) {
    if (steps > 1000) return false;
    const auto [node, factor] = stack.back();
    stack.pop_back();
    UOpRef rest;
    std::int64_t scale;
    if (node->is_const()) {
      if (!add_constant(node->int_value(), factor)) return false;
    } else if (single_value(node)) {
      if (!add_constant(node->bounds.min, factor)) return false;
    } else if (node->is(Op::Add)) {
      stack.push_back({node->source(1), factor});
      stack.push_back({node->source(0), factor});
    } else if (node->is(Op::Sub) || node->is(Op::Neg)) {
      if (factor == kMin) return false;
      stack.push_back({node->sources.back(), -factor});
      if (node->is(Op::Sub)) stack.push_back({node->source(0), factor});
    } else if (split_multiple(node, rest, scale)) {
      if (__builtin_mul_overflow(scale, factor, &scale)) return false;
      stack.push_back({rest, scale});
    } else if (!add_atom(node, factor)) {
      return false;
    }
  }
  return true;
}

bool LinearForm::add_form(const LinearForm& other, std::int64_t factor) {
  for (const Term& term : other.terms) {
    std::int64_t scaled;
    if (__builtin_mul_overflow(term.factor, factor, &scaled) || !add_atom(term.atom, scaled)) return false;
  }
  return add_constant(other.constant, factor);
}

Interval LinearForm::bounds() const {
  Interval sum{constant, constant};
  for (const Term& term : terms) {
    const ir::Bounds b = term.atom->bounds;
    const std::int64_t low = term.factor > 0 ? b.min : b.max, high = term.factor > 0 ? b.max : b.min;
    const auto add = [&](std::optional<__int128>& end, std::int64_t value) {
      if (value == kMin || value == kMax) end.reset();
      if (end) *end += static_cast<__int128>(value) * term.factor;
    };
    add(sum.low, low);
    add(sum.high, high);
  }
  return sum;
}

std::optional<LinearForm> linear_form(UOpRef node) {
  LinearForm form;
  if (!form.add(node)) return std::nullopt;
  return form;
}

UOpRef build(ir::Graph& graph, const LinearForm& form) {
  UOpRef sum = nullptr;
  for (const Term& term : form.terms) {
    const UOpRef value = term.factor == 1 ? term.atom : graph.mul(term.atom, graph.index(term.factor));
    sum = sum == nullptr ? value : graph.add(sum, value);
  }
  if (sum == nullptr) return graph.index(form.constant);
  return form.constant == 0 ? sum : graph.add(sum, graph.index(form.constant));
}

std::optional<Product> product_form(UOpRef root) {
  Product product;
  absl::InlinedVector<UOpRef, 8> stack = {root};
  while (!stack.empty()) {
    UOpRef node = stack.back();
    stack.pop_back();
    if (node->is_const() || single_value(node)) {
      if (__builtin_mul_overflow(product.constant, node->bounds.min, &product.constant)) return std::nullopt;
    } else if (node->is(Op::Mul)) {
      stack.push_back(node->source(1));
      stack.push_back(node->source(0));
    } else {
      if (product.factors.size() >= 16) return std::nullopt;
      product.factors.push_back(node);
    }
  }
  std::sort(product.factors.begin(), product.factors.end(),
            [](UOpRef a, UOpRef b) { return rewrite::compare_nodes(a, b) < 0; });
  return product;
}

UOpRef build(ir::Graph& graph, const Product& product) {
  if (product.constant == 0 || product.factors.empty()) return graph.index(product.constant);
  UOpRef result = nullptr;
  for (UOpRef factor : product.factors) result = result == nullptr ? factor : graph.mul(result, factor);
  return product.constant == 1 ? result : graph.mul(result, graph.index(product.constant));
}

std::optional<Product> without(const Product& product, UOpRef factor) {
  Product rest = product;
  auto at = std::find(rest.factors.begin(), rest.factors.end(), factor);
  if (at == rest.factors.end()) return std::nullopt;
  rest.factors.erase(at);
  return rest;
}

bool provably_non_negative(UOpRef a) { return a->bounds.min >= 0; }

bool provably_less(ir::Graph& graph, UOpRef a, UOpRef n, int depth) {
  if (a->bounds.max < n->bounds.min && a->bounds.max != kMax) return true;
  if (a->is(Op::Range) && a->source(0) == n) return true;
  if (a->is(Op::FloorMod) && a->source(1) == n && n->bounds.min > 0) return true;
  if (depth == 0) return false;
  // a = f*q + rest with 0 <= rest < f and n = f*e: a < n when q < e.
  const std::optional<Product> size = product_form(n);
  const std::optional<LinearForm> sum = linear_form(a);
  if (!size || !sum || size->factors.empty() || size->constant <= 0 || n->bounds.min < 0) return false;
  for (UOpRef f : size->factors) {
    if (f == n) continue;
    LinearForm quotient, rest;
    bool valid = rest.add_constant(sum->constant);
    for (const Term& term : sum->terms) {
      const std::optional<Product> product = product_form(term.atom);
      const std::optional<Product> reduced = product ? without(*product, f) : std::nullopt;
      valid = valid &&
              (reduced ? quotient.add(build(graph, *reduced), term.factor) : rest.add_atom(term.atom, term.factor));
    }
    if (!valid || quotient.terms.empty()) continue;
    const UOpRef rest_node = build(graph, rest), quotient_node = build(graph, quotient);
    if (provably_non_negative(rest_node) && provably_less(graph, rest_node, f, depth - 1) &&
        provably_less(graph, quotient_node, build(graph, *without(*size, f)), depth - 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace hearth::rules
