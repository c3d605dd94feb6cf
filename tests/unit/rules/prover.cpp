#include "tests/unit/rules/prover.h"

#include <array>
#include <optional>
#include <sstream>

#include "tests/unit/rules/z3_operations.h"

namespace hearth::test {

using ir::Op;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using rewrite::Sort;
using z3::expr;

namespace {

constexpr unsigned kWide = 40;  // bits for conditions about 8-bit values: products of four fit

class Prover : public Z3Operations {
 public:
  Prover(const rewrite::Rule& rule, Domain domain, unsigned effort_limit, int effort)
      : Z3Operations(domain),
        rule_(rule),
        effort_limit_(effort_limit),
        effort_(effort),
        facts_(context_),
        pool_(context_) {}

  Proof run() {
    const Sort sort = sort_of_rule();
    if (domain_ == Domain::Integer && !rule_.when.empty()) substitute_multiples(0);
    const expr lhs = encode(rule_.lhs, 0, sort), rhs = encode(rule_.rhs, 0, sort);
    const expr when = rule_.when.empty() ? context_.bool_val(true) : condition(rule_.when, 0);
    add_lemmas();
    z3::solver solver = make_solver();
    for (unsigned i = 0; i < facts_.size(); ++i) solver.add(facts_[i]);
    solver.add(when);
    solver.push();
    if (solver.check() == z3::unsat) return {Verdict::Vacuous, ""};
    solver.pop();
    solver.add(!(lhs == rhs));
    const z3::check_result result = solver.check();
    if (result == z3::unsat) return {Verdict::Proved, ""};
    if (result == z3::unknown) return {Verdict::Unknown, solver.reason_unknown()};
    std::ostringstream model;
    model << solver.get_model();
    return {Verdict::Refuted, model.str()};
  }

 private:
  z3::solver make_solver() {
    z3::solver solver = domain_ == Domain::Float ? z3::tactic(context_, "qffp").mk_solver() : z3::solver(context_);
    if (vector_domain()) {
      solver = (z3::tactic(context_, "simplify") & z3::tactic(context_, "solve-eqs") & z3::tactic(context_, "smt"))
                   .mk_solver();
    }
    z3::params params(context_);
    params.set("rlimit", effort_limit_);  // work, not time: the same answer on a busy machine
    solver.set(params);
    return solver;
  }

  // Sort of the whole: of the right side where the left is a literal's or a capture's.
  Sort sort_of_rule() const {
    Sort sort = rewrite::sort_of(rule_.lhs, 0);
    if (sort == Sort::Unknown) sort = rewrite::sort_of(rule_.rhs, 0);
    return sort == Sort::Unknown ? Sort::Element : sort;
  }

  expr capture(int index) {
    if (captures_[index]) return *captures_[index];
    const std::string name = to_string(Pattern::leaf(NodeKind::Capture, static_cast<std::uint8_t>(index)));
    expr value = context_.bool_const(name.c_str());
    if (!rewrite::is_bool_capture(index)) {
      if (domain_ == Domain::Integer) value = context_.int_const(name.c_str());
      if (domain_ == Domain::Real) value = context_.real_const(name.c_str());
      if (domain_ == Domain::Float) value = context_.constant(name.c_str(), float_sort());
      if (vector_domain()) value = context_.bv_const(name.c_str(), 8);
      if (domain_ == Domain::Integer) pool_.push_back(value);
    }
    captures_[index] = value;
    return value;
  }

  Sort operand_sort(const Pattern& p, int i, Sort place) const {
    for (int s = p[i].op == Op::Where ? 1 : 0; s < p[i].num_sources; ++s) {
      const Sort sort = rewrite::sort_of(p, p[i].sources[s]);
      if (sort != Sort::Unknown) return sort;
    }
    // Only literals: operands of a comparison are of the element type.
    return ir::op_class(p[i].op) == ir::OpClass::Compare ? Sort::Element : place;
  }

  expr encode(const Pattern& p, int i, Sort place) {
    const PatternNode& node = p[i];
    switch (node.kind) {
      case NodeKind::Capture:
        return capture(node.capture);
      case NodeKind::Literal:
        return literal(node.value, place);
      case NodeKind::Fold:
        return encode(p, node.sources[0], place);
      default:
        break;
    }
    const Sort sort = operand_sort(p, i, place);
    if (node.op == Op::Where) {
      const expr c = encode(p, node.sources[0], Sort::Bool);
      return z3::ite(c, encode(p, node.sources[1], sort), encode(p, node.sources[2], sort));
    }
    const expr a = encode(p, node.sources[0], sort);
    if (node.num_sources == 1) return unary(node.op, a);
    const expr b = encode(p, node.sources[1], sort);
    const expr result = binary(node.op, a, b);
    if (result.is_int()) pool_.push_back(result);
    return result;
  }

  expr nonzero(const expr& a) override {
    facts_.push_back(a != 0);
    return a;
  }

  Division divide(Op op, const expr& a, const expr& b) override {
    if (!a.is_int()) return divide_vector(op, a, b);
    for (const Division& known : divisions_) {
      if (known.op == op && z3::eq(known.a, a) && z3::eq(known.b, b)) return known;
    }
    const std::string id = std::to_string(divisions_.size());
    const expr q = context_.int_const(("q" + id).c_str()), r = context_.int_const(("r" + id).c_str());
    const expr zero = context_.int_val(0);
    const expr size = z3::ite(b < 0, -b, b);
    const expr non_negative = op == Op::FloorDiv ? b > 0 : a >= 0;
    facts_.push_back(z3::implies(b == 0, q == 0 && r == 0));
    facts_.push_back(z3::implies(b != 0, a == b * q + r));
    facts_.push_back(z3::implies(b != 0 && non_negative, r >= 0 && r < size));
    facts_.push_back(z3::implies(b != 0 && !non_negative, r <= 0 && -r < size));
    divisions_.push_back({op, a, b, q, r});
    pool_.push_back(q);
    return divisions_.back();
  }

  // True facts about integers that Z3 does not find by itself: quotients are unique, products are monotonic.
  void add_lemmas() {
    if (domain_ != Domain::Integer) return;
    if (effort_ < 0) {  // a counterexample needs no lemma, but a small space
      for (const auto& capture : captures_) {
        if (capture && capture->is_int()) facts_.push_back(*capture >= -6 && *capture <= 6);
      }
      return;
    }
    const std::size_t count = divisions_.size();
    add_candidates();
    for (std::size_t i = 0; i < count; ++i) {
      const Division d = divisions_[i];
      if (d.op != Op::FloorDiv) continue;
      for (unsigned t = 0; t < pool_.size(); ++t) {
        const expr v = pool_[t];
        facts_.push_back(z3::implies(d.b > 0 && d.b * v <= d.a && d.a < d.b * v + d.b,
                                     d.quotient == v && d.remainder == d.a - d.b * v));
        facts_.push_back(z3::implies(d.b < 0 && d.b * v >= d.a && d.a > d.b * v + d.b,
                                     d.quotient == v && d.remainder == d.a - d.b * v));
      }
      for (int c = 0; c < rewrite::kNumCaptures; ++c) {
        if (!captures_[c] || !captures_[c]->is_int()) continue;
        const expr f = *captures_[c];
        facts_.push_back(z3::implies(f > 0 && d.b > 0, f * d.remainder >= 0 && f * d.remainder <= f * d.b - f));
      }
      for (std::size_t j = 0; j < count; ++j) {
        const expr f = divisions_[j].quotient;
        facts_.push_back(z3::implies(f > 0 && d.b > 0, f * d.remainder >= 0 && f * d.remainder <= f * d.b - f));
      }
    }
  }

  // Whether the condition has the conjunct a > 0 or a != 0 for this capture.
  bool nonzero(int i, int capture) const {
    const Pattern& p = rule_.when;
    const PatternNode& node = p[i];
    if (node.op == Op::And) return nonzero(node.sources[0], capture) || nonzero(node.sources[1], capture);
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
  void substitute_multiples(int i) {
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
    if (c.kind != NodeKind::Capture || d.kind != NodeKind::Capture || !nonzero(0, d.capture)) return;
    const expr k = context_.int_const("k");
    multiple_ = k;
    pool_.push_back(k);
    captures_[c.capture] = capture(d.capture) * k;
  }

  // Quotients to try beyond the terms of the rule: sums and products of what it names.
  void add_candidates() {
    std::vector<expr> values, quotients;
    for (int c = 0; c < rewrite::kFirstConstCapture; ++c) {
      if (captures_[c] && captures_[c]->is_int()) values.push_back(*captures_[c]);
    }
    for (const Division& d : divisions_) quotients.push_back(d.quotient);
    if (multiple_) values.push_back(*multiple_);
    for (std::size_t q = 0; q < quotients.size(); ++q) {
      for (const expr& v : values) {
        if (effort_ == 1) pool_.push_back(quotients[q] + v);
        if (effort_ == 2) pool_.push_back(quotients[q] * v);
        for (std::size_t other = 0; effort_ == 3 && other < quotients.size(); ++other) {
          pool_.push_back(quotients[q] * v + quotients[other]);
        }
      }
      for (std::size_t other = 0; effort_ == 1 && other < q; ++other) pool_.push_back(quotients[q] + quotients[other]);
    }
    for (std::size_t v = 0; effort_ == 2 && v < values.size(); ++v) {
      for (std::size_t u = 0; u < v; ++u) pool_.push_back(values[v] * values[u]);
    }
  }

  // Conditions: mathematical integers, as Int or as wide signed vectors.
  expr wide(const expr& a) {
    if (a.is_int()) return a;
    if (a.is_bool()) return z3::ite(a, wide_value(1), wide_value(0));
    return is_signed() ? z3::sext(a, kWide - 8) : z3::zext(a, kWide - 8);
  }
  expr wide_value(std::int64_t value) {
    return vector_domain() ? context_.bv_val(value, kWide) : context_.int_val(value);
  }
  expr bound(int index, bool max) {
    std::optional<expr>& slot = max ? highs_[index] : lows_[index];
    if (slot) return *slot;
    const expr value = wide(capture(index));
    const std::string name = (max ? "hi_" : "lo_") + std::to_string(index);
    const expr end = vector_domain() ? context_.bv_const(name.c_str(), kWide) : context_.int_const(name.c_str());
    facts_.push_back(max ? value <= end : end <= value);
    if (vector_domain()) facts_.push_back(end >= wide_value(-256) && end <= wide_value(256));
    slot = end;
    return end;
  }

  expr condition(const Pattern& p, int i) {
    const PatternNode& node = p[i];
    switch (node.kind) {
      case NodeKind::Literal:
        return wide_value(node.value);
      case NodeKind::Capture:
        return wide(capture(node.capture));
      case NodeKind::VMin:
        return bound(node.capture, false);
      case NodeKind::VMax:
        return bound(node.capture, true);
      default:
        break;
    }
    const expr a = condition(p, node.sources[0]);
    if (node.num_sources == 1) return node.op == Op::Not ? !a : node.op == Op::Neg ? -a : z3::ite(a < 0, -a, a);
    const expr b = condition(p, node.sources[1]);
    switch (node.op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a - b;
      case Op::Mul:
        return a * b;
      case Op::FloorDiv:
      case Op::FloorMod:
        if (!a.is_int()) throw std::logic_error("prover: division in a condition of a fixed-width rule");
        return node.op == Op::FloorDiv ? divide(Op::FloorDiv, a, b).quotient : divide(Op::FloorDiv, a, b).remainder;
      case Op::Lt:
        return a < b;
      case Op::Le:
        return a <= b;
      case Op::Eq:
        return a == b;
      case Op::Ne:
        return a != b;
      case Op::And:
        return a && b;
      case Op::Or:
        return a || b;
      case Op::Max:
        return z3::ite(a < b, b, a);
      case Op::Min:
        return z3::ite(b < a, b, a);
      default:
        throw std::logic_error("prover: condition " + std::string(ir::op_name(node.op)));
    }
  }

  const rewrite::Rule& rule_;
  unsigned effort_limit_;
  int effort_;
  z3::expr_vector facts_, pool_;
  std::array<std::optional<expr>, rewrite::kNumCaptures> captures_, lows_, highs_;
  std::vector<Division> divisions_;
  std::optional<expr> multiple_;
};

}  // namespace

std::string to_string(Domain domain) {
  switch (domain) {
    case Domain::Integer:
      return "integers";
    case Domain::Signed8:
      return "signed 8-bit vectors";
    case Domain::Unsigned8:
      return "unsigned 8-bit vectors";
    case Domain::Bool:
      return "bools";
    case Domain::Real:
      return "real numbers";
    default:
      return "floats";
  }
}

std::vector<Domain> domains_of(rewrite::DTypeSet dtypes) {
  std::vector<Domain> domains;
  if (dtypes & rewrite::kBool) domains.push_back(Domain::Bool);
  if (dtypes & rewrite::kSigned) domains.push_back(Domain::Signed8);
  if (dtypes & rewrite::kUnsigned) domains.push_back(Domain::Unsigned8);
  if (dtypes & rewrite::kIndex) domains.push_back(Domain::Integer);
  if (dtypes & rewrite::kFloat) domains.push_back(Domain::Float);
  return domains;
}

constexpr unsigned kSearchLimit = 100'000'000;  // for the finite domains
constexpr unsigned kFirstLimit = 150'000, kLemmaLimit = 2'000'000;

Proof prove(const rewrite::Rule& rule, Domain domain) {
  if (domain != Domain::Integer) return Prover(rule, domain, kSearchLimit, 0).run();
  Proof proof{Verdict::Unknown, ""};
  for (int effort = 0; effort < 4 && proof.verdict == Verdict::Unknown; ++effort) {
    proof = Prover(rule, domain, effort == 0 ? kFirstLimit : kLemmaLimit, effort).run();
  }
  return proof;
}

bool refuted(const rewrite::Rule& rule, Domain domain) {
  const unsigned limit = domain == Domain::Integer ? kLemmaLimit : kSearchLimit;
  return Prover(rule, domain, limit, -1).run().verdict == Verdict::Refuted;
}

}  // namespace hearth::test
