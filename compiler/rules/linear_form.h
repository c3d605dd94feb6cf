// LinearForm: an index expression as a sum of constant multiples of atoms plus a constant, and back in one canonical
// way: atoms in structural order, constant last. The arithmetic is checked: what would leave int64 has no form.
//
//   linear_form(i * 64 + (j - i) * 3)  ->  i * 61 + j * 3
#pragma once
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "compiler/ir/graph.h"

namespace hearth::rules {

struct Term {
  ir::UOpRef atom;
  std::int64_t factor;
};

// Inclusive; an absent end is unknown.
struct Interval {
  std::optional<__int128> low, high;
  bool inside(std::int64_t least, std::int64_t end) const { return low && high && *low >= least && *high < end; }
};

struct LinearForm {
  absl::InlinedVector<Term, 8> terms;  // by compare_nodes, distinct, no zero factor
  std::int64_t constant = 0;

  void clear() {
    terms.clear();
    constant = 0;
  }
  bool is_constant() const { return terms.empty(); }
  Interval bounds() const;
  // Adds factor * node; false on overflow or too many terms.
  bool add(ir::UOpRef node, std::int64_t factor = 1);
  bool add_atom(ir::UOpRef atom, std::int64_t factor);
  bool add_constant(std::int64_t value, std::int64_t factor = 1);
  bool add_form(const LinearForm& other, std::int64_t factor = 1);
};

std::optional<LinearForm> linear_form(ir::UOpRef node);
ir::UOpRef build(ir::Graph& graph, const LinearForm& form);

// The factors of a product of an index expression: constants multiplied together, the others in structural order.
struct Product {
  absl::InlinedVector<ir::UOpRef, 4> factors;
  std::int64_t constant = 1;
};
std::optional<Product> product_form(ir::UOpRef node);
ir::UOpRef build(ir::Graph& graph, const Product& product);
// `product` without one `factor`; nothing when it has none.
std::optional<Product> without(const Product& product, ir::UOpRef factor);

// Whether 0 <= a and a < n hold wherever both are evaluated, also for symbolic n: a range of size n, x mod n, and
// sums such as i * n1 + j < n * n1.
bool provably_non_negative(ir::UOpRef a);
bool provably_less(ir::Graph& graph, ir::UOpRef a, ir::UOpRef n, int depth = 4);

}  // namespace hearth::rules
