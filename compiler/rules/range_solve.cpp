#include "compiler/rules/range_solve.h"

#include "compiler/rules/linear_form.h"

namespace hearth::rules {

using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 61;  // sums of two such values stay within int64

// The operands as indices; false where a cast could change which values compare equal or less.
bool as_indices(ir::Graph& graph, UOpRef& a, UOpRef& b, UOpRef range) {
  const ir::DType type = a->dtype, index(ir::Scalar::Index);
  if (type == index) return true;
  if (!ir::is_int(type) || type.lanes != 1 || type.scalar == ir::Scalar::U64) return false;
  for (UOpRef* side : {&a, &b}) {
    const UOpRef node = *side;
    if (node->is(Op::Cast) && node->source(0)->dtype == index) {
      const ir::Bounds b0 = node->source(0)->bounds;
      if (b0.min <= ir::int_min(type) && type.scalar == ir::Scalar::I64) return false;  // INT64_MIN: unknown
      if (b0.min < ir::int_min(type) || b0.max > ir::int_max(type) || b0.max == INT64_MAX) return false;
      *side = node->source(0);
    } else if (depends_on(node, range)) {
      return false;
    } else {
      *side = graph.cast(node, index);
    }
  }
  return true;
}

bool stays_near(const LinearForm& form) {
  if (form.terms.size() == 1 && form.terms[0].factor == 1 && form.constant == 0) return true;
  return form.bounds().inside(-kFar, kFar);
}

}  // namespace

bool depends_on(UOpRef value, UOpRef range) {
  for (UOpRef node : ir::toposort(value)) {
    if (node == range) return true;
  }
  return false;
}

std::optional<Solved> solve(ir::Graph& graph, UOpRef comparison, UOpRef range) {
  if (!comparison->is(Op::Eq) && !comparison->is(Op::Lt) && !comparison->is(Op::Le)) return std::nullopt;
  UOpRef a = comparison->source(0), b = comparison->source(1);
  if (!as_indices(graph, a, b, range)) return std::nullopt;
  LinearForm difference;  // a - b = f*range + rest
  if (!difference.add(a) || !difference.add(b, -1)) return std::nullopt;
  std::int64_t f = 0;
  for (const Term& term : difference.terms) {
    if (term.atom == range) f = term.factor;
  }
  if (f != 1 && f != -1) return std::nullopt;
  LinearForm at;  // -rest / f
  if (!difference.add_atom(range, -f) || !at.add_form(difference, -f) || !stays_near(at)) return std::nullopt;
  for (const Term& term : at.terms) {
    if (depends_on(term.atom, range)) return std::nullopt;
  }
  using Kind = Solved::Kind;
  const Kind kind = comparison->is(Op::Eq)   ? Kind::Equal
                    : comparison->is(Op::Lt) ? (f > 0 ? Kind::Below : Kind::Above)
                                             : (f > 0 ? Kind::AtMost : Kind::AtLeast);
  return Solved{kind, build(graph, at)};
}

}  // namespace hearth::rules
