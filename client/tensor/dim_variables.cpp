// Variables of lengths: made of their names and bounds, and found in what is computed of them.
#include <algorithm>
#include <utility>

#include "client/tensor/dim_terms.h"
#include "client/tensor/range_parts.h"
#include "hearth/dim.h"
#include "hearth/error.h"

namespace hearth::client {

Dim Dim::variable(std::string_view name, std::int64_t min, std::int64_t max, RangeParts parts) {
  return variable(Variable{std::string(name), min, max, std::move(parts)});
}

Dim Dim::multiple(std::string_view name, std::int64_t unit, std::int64_t min, std::int64_t max, RangeParts parts) {
  const Dim value = variable(Variable{std::string(name), min, max, std::move(parts), unit});
  return unit == 1 ? value : value / unit * unit;
}

void Dim::collect_variables(std::vector<Variable>& vars) const {
  if (!poly_) return;
  for (const Term& term : poly_->terms) {
    for (const AtomPtr& factor : term.factors) {
      if (factor->kind != v1::ExprToken::VAR) {
        factor->a.collect_variables(vars);
        factor->b.collect_variables(vars);
        continue;
      }
      const Variable& wanted = factor->variable;
      auto found = std::find_if(vars.begin(), vars.end(), [&](const Variable& var) { return var.name == wanted.name; });
      if (found == vars.end()) {
        vars.push_back(wanted);
      } else if (!(*found == wanted)) {
        throw JitError(absl::InvalidArgumentError(str_cat(
            "dim: variable '", wanted.name, "' has bounds [", found->min, ", ", found->max, "]", parts_text(*found),
            " and [", wanted.min, ", ", wanted.max, "]", parts_text(wanted), "; use one name for one variable")));
      }
    }
  }
}

}  // namespace hearth::client
