#include "tests/unit/rules/division_lemmas.h"

#include "tests/unit/rules/rule_encoding.h"

namespace hearth::test {

using ir::Op;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using z3::expr;

std::vector<DivisionFact> division_facts(bool is_signed, const expr& a, const expr& b, const expr& q, const expr& r) {
  const auto size = [&](const expr& x) { return is_signed ? z3::ite(x < 0, -x, x) : x; };
  std::vector<DivisionFact> facts = {
      {"a = b*q + r", true, a == b * q + r},
      {"|r| < |b|", true, z3::ult(size(r), size(b))},
      {"q = 0 where |a| < |b|", false, z3::implies(z3::ult(size(a), size(b)), q == 0 && r == a)},
      {"q = 1 where a = b", false, z3::implies(a == b, q == 1 && r == 0)},
      {"q = a where b = 1", false, z3::implies(b == 1, q == a && r == 0)},
      {"a = 0 gives 0", false, z3::implies(a == 0, q == 0 && r == 0)},
  };
  if (is_signed) {
    facts.push_back({"r has the sign of a", true, r == 0 || (r < 0) == (a < 0)});
    facts.push_back({"q = -1 where a = -b", false, z3::implies(a == -b && a != b, q == -1 && r == 0)});
    facts.push_back({"q = -a where b = -1", false, z3::implies(b == -1, q == -a && r == 0)});
  }
  return facts;
}

RuleEncoding::Division RuleEncoding::divide(Op op, const expr& a, const expr& b) {
  const bool exact = !a.is_int() && how_ == Divisions::Exact;
  for (const NamedDivision& known : divisions_) {
    if (known.op == op && z3::eq(known.a, a) && z3::eq(known.b, b)) return known.result;
  }
  const Division result = exact        ? Z3Operations::divide(op, a, b)
                          : a.is_int() ? name_integers(op, a, b)
                                       : name_vectors(op, a, b);
  divisions_.push_back({op, a, b, result});
  return result;
}

// The definition: one quotient and one remainder satisfy it.
RuleEncoding::Division RuleEncoding::name_integers(Op op, const expr& a, const expr& b) {
  const std::string id = std::to_string(divisions_.size());
  const Division d{constant("q" + id), constant("r" + id)};
  const expr &q = d.quotient, &r = d.remainder;
  const expr size = z3::ite(b < 0, -b, b), non_negative = op == Op::FloorDiv ? b > 0 : a >= 0;
  facts.push_back(z3::implies(b == 0, q == 0 && r == 0));
  facts.push_back(z3::implies(b != 0, a == b * q + r));
  facts.push_back(z3::implies(b != 0 && non_negative, r >= 0 && r < size));
  facts.push_back(z3::implies(b != 0 && !non_negative, r <= 0 && -r < size));
  pool_.push_back(q);
  return d;
}

RuleEncoding::Division RuleEncoding::name_vectors(Op op, const expr& a, const expr& b) {
  const std::string id = std::to_string(divisions_.size());
  const Division d{constant("q" + id), constant("r" + id)};
  for (const DivisionFact& known : division_facts(is_signed(), a, b, d.quotient, d.remainder)) {
    facts.push_back(z3::implies(b != 0, known.fact));
  }
  const Division result = is_signed() && op == Op::FloorDiv ? floor_of(d, b) : d;
  facts.push_back(z3::implies(b != 0, a == b * result.quotient + result.remainder));  // b * (q - 1) + (r + b)
  return {z3::ite(b == 0, bits(0), result.quotient), z3::ite(b == 0, bits(0), result.remainder)};
}

// Quotients are unique, products are monotonic, and what defines a quotient holds multiplied by a number too.
void RuleEncoding::add_division_lemmas(int effort) {
  const std::size_t count = divisions_.size();
  add_candidates(effort);
  for (std::size_t i = 0; i < count; ++i) {
    const NamedDivision d = divisions_[i];
    if (d.op != Op::FloorDiv) continue;
    const expr &q = d.result.quotient, &r = d.result.remainder;
    for (unsigned t = 0; t < pool_.size(); ++t) {
      const expr v = pool_[static_cast<int>(t)];
      const expr found = q == v && r == d.a - d.b * v;
      facts.push_back(z3::implies(d.b > 0 && d.b * v <= d.a && d.a < d.b * v + d.b, found));
      facts.push_back(z3::implies(d.b < 0 && d.b * v >= d.a && d.a > d.b * v + d.b, found));
    }
    const auto scaled = [&](const expr& f) {
      facts.push_back(z3::implies(f > 0 && d.b > 0, f * r >= 0 && f * r <= f * d.b - f));
      facts.push_back(z3::implies(d.b != 0, f * d.a == f * d.b * q + f * r));
      if (multiple_) facts.push_back(z3::implies(f > 0 && q >= *multiple_, f * q >= f * *multiple_));
    };
    for (const auto& capture : captures_) {
      if (capture && capture->is_int()) scaled(*capture);
    }
    for (std::size_t j = 0; j < count; ++j) scaled(divisions_[j].result.quotient);
  }
}

// Whether the condition has the conjunct a > 0 or a != 0 for this capture.
bool RuleEncoding::is_nonzero(int i, int capture) const {
  const Pattern& p = rule_.when;
  const PatternNode& node = p[i];
  if (node.op == Op::And) return is_nonzero(node.sources[0], capture) || is_nonzero(node.sources[1], capture);
  if (node.kind != NodeKind::Operation || (node.op != Op::Lt && node.op != Op::Ne)) return false;
  for (int s = 0; s < 2; ++s) {
    const PatternNode &zero = p[node.sources[s]], &other = p[node.sources[1 - s]];
    if (zero.kind == NodeKind::Literal && zero.value == 0 && other.kind == NodeKind::Capture &&
        other.capture == capture)
      return true;
  }
  return false;
}

// c mod d = 0 with d != 0 means c = d*k: then c is written so from the start.
void RuleEncoding::substitute_multiples(int i) {
  const Pattern& p = rule_.when;
  const PatternNode& node = p[i];
  if (node.op == Op::And) {
    for (int s = 0; s < 2; ++s) substitute_multiples(node.sources[s]);
  }
  if (node.kind != NodeKind::Operation || node.op != Op::Eq) return;
  const PatternNode& mod = p[node.sources[0]];
  const PatternNode& zero = p[node.sources[1]];
  if (mod.kind != NodeKind::Operation || mod.op != Op::FloorMod || zero.value != 0) return;
  const PatternNode &c = p[mod.sources[0]], &d = p[mod.sources[1]];
  if (c.kind != NodeKind::Capture || d.kind != NodeKind::Capture || !is_nonzero(0, d.capture)) return;
  const expr k = constant("k");
  multiple_ = k;
  pool_.push_back(k);
  captures_[c.capture] = capture(d.capture) * k;
}

// Quotients to try beyond the terms of the rule: sums and products of what it names.
void RuleEncoding::add_candidates(int effort) {
  std::vector<expr> values, quotients;
  for (int c = 0; c < rewrite::kFirstConstCapture; ++c) {
    if (captures_[c] && captures_[c]->is_int()) values.push_back(*captures_[c]);
  }
  for (const NamedDivision& d : divisions_) quotients.push_back(d.result.quotient);
  if (multiple_) values.push_back(*multiple_);
  for (std::size_t q = 0; q < quotients.size(); ++q) {
    for (const expr& v : values) {
      if (effort == 1) pool_.push_back(quotients[q] + v);
      if (effort == 2) pool_.push_back(quotients[q] * v);
      for (std::size_t other = 0; effort == 3 && other < quotients.size(); ++other) {
        pool_.push_back(quotients[q] * v + quotients[other]);
      }
    }
    for (std::size_t other = 0; effort == 1 && other < q; ++other) pool_.push_back(quotients[q] + quotients[other]);
  }
  for (std::size_t v = 0; effort == 2 && v < values.size(); ++v) {
    for (std::size_t u = 0; u < v; ++u) pool_.push_back(values[v] * values[u]);
  }
}

}  // namespace hearth::test
