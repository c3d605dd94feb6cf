// What quotients and remainders by constants say of each other, for rules/inequality. Pure functions.
#pragma once
#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/rules/polynomial.h"

namespace hearth::rules {

Polynomial polynomial(ir::UOpRef node);

// The value of a node whose bounds are one number.
std::optional<std::int64_t> single_value(ir::UOpRef node);
// The divisor of a quotient by a constant; else 0.
std::int64_t divisor_of(ir::UOpRef atom);
// x div n as `simplify` writes it: (y div m) div n is y div (m * n).
ir::UOpRef quotient_of(ir::Graph& g, ir::UOpRef x, std::int64_t n);
// y div n and x mod n where n divides x - y.
bool belong_together(ir::UOpRef quotient, ir::UOpRef modulo);
// The greatest x div n, with the loops in x at their ends, where one of them has a symbolic length.
std::optional<Polynomial> greatest_quotient(ir::UOpRef quotient);
// A bound on `atom` by another quotient of nearly the same, as a polynomial that is never negative: from below where
// `rises`, else from above. For q = (x + c) div (k n) and p = x div n, k q <= p + ceil(c / n) and
// p + floor(c / n) <= k q + k - 1.
std::optional<Polynomial> bound_by_quotient(ir::UOpRef atom, ir::UOpRef other, bool rises);

}  // namespace hearth::rules
