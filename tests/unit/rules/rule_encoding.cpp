#include "tests/unit/rules/rule_encoding.h"

#include <stdexcept>

namespace hearth::test {

using ir::Op;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::PatternNode;
using rewrite::Sort;
using z3::expr;

namespace {

bool has_kind(const Pattern& p, NodeKind kind) {
  for (int i = 0; i < p.size(); ++i) {
    if (p[i].kind == kind) return true;
  }
  return false;
}

bool has_op(const Pattern& p, Op op) {
  for (int i = 0; i < p.size(); ++i) {
    if (p[i].kind == NodeKind::Operation && p[i].op == op) return true;
  }
  return false;
}

std::string name_of(int capture) {
  return to_string(Pattern::leaf(NodeKind::Capture, static_cast<std::uint8_t>(capture)));
}

}  // namespace

bool moves_elements(const rewrite::Rule& rule) {
  return has_op(rule.lhs, Op::Reshape) || has_op(rule.lhs, Op::Expand) || has_op(rule.lhs, Op::Pad);
}

RuleEncoding::RuleEncoding(z3::context& context, const rewrite::Rule& rule, const Domain& domain, Divisions divisions)
    : Z3Operations(context, domain), facts(context), rule_(rule), how_(divisions), pool_(context) {
  if (domain.theory == Theory::Integer && !rule.when.empty()) substitute_multiples(0);
  // log2 has no value for some constants. The rule does not fire there, unless the other side of an "or" holds.
  if (has_kind(rule.when, NodeKind::Log2) && has_op(rule.when, Op::Or)) throw std::logic_error("prover: log2 under or");
  // Of the right side where the left is a literal's or a capture's.
  Sort sort = rewrite::sort_of(rule.lhs, 0);
  if (sort == Sort::Unknown) sort = rewrite::sort_of(rule.rhs, 0);
  if (sort == Sort::Unknown) sort = Sort::Element;
  if (moves_elements(rule)) place_ = context.int_const("place");
  if (place_) facts.push_back(*place_ >= 0 && *place_ < length_of(rule.lhs, 0));
  lhs = encode(rule.lhs, 0, sort);
  const unsigned num_facts = facts.size();
  rhs = encode(rule.rhs, 0, sort);
  if (place_) {
    is_well_formed = length_of(rule.lhs, 0) == length_of(rule.rhs, 0);
    for (unsigned i = num_facts; i < facts.size(); ++i) is_well_formed = *is_well_formed && facts[static_cast<int>(i)];
    facts.resize(num_facts);
  }
  when = rule.when.empty() ? context.bool_val(true) : condition(rule.when, 0);
}

// Lengths of one axis: a capture's is a name of its own, the root's of an expand the same on both sides.
expr RuleEncoding::length_of(const Pattern& p, int i) {
  const PatternNode& node = p[i];
  if (node.kind == NodeKind::Capture) {
    const expr length = context_.int_const(("length_" + name_of(node.capture)).c_str());
    return length;
  }
  if (node.op == Op::Pad) return length_of(p, node.sources[0]);  // with nothing before and behind it
  return context_.int_const(i == 0 ? "length" : "length_inside");
}

expr RuleEncoding::encode_movement(const Pattern& p, int i) {
  const PatternNode& node = p[i];
  const expr outside = *place_, length = length_of(p, i), inner = length_of(p, node.sources[0]);
  std::optional<expr> result;
  if (node.op == Op::Reshape) {  // the elements stay in order, as many as they are
    facts.push_back(length == inner);
    result = encode(p, node.sources[0], Sort::Element);
  } else if (node.op == Op::Expand) {
    facts.push_back(inner >= 1 && (inner == length || inner == 1));
    place_ = z3::ite(inner == 1, context_.int_val(0), outside);
    result = encode(p, node.sources[0], Sort::Element);
  } else {  // amounts are literals, equal on both ends
    const std::int64_t before = node.num_sources > 2 ? p[p[node.sources[2]].sources[0]].value : 0;
    place_ = outside - context_.int_val(before);
    const expr inside = *place_ >= 0 && *place_ < inner;
    result = z3::ite(inside, encode(p, node.sources[0], Sort::Element), encode(p, node.sources[1], Sort::Element));
  }
  place_ = outside;
  return *result;
}

expr RuleEncoding::capture(int index) {
  // A value with places: a function of them.
  if (place_) {
    const z3::func_decl at =
        context_.function(name_of(index).c_str(), context_.int_sort(), constant("element").get_sort());
    return at(*place_);
  }
  if (captures_[index]) return *captures_[index];
  const bool is_bool = rewrite::is_bool_capture(index);
  const expr value = is_bool ? context_.bool_const(name_of(index).c_str()) : constant(name_of(index));
  if (is_bool) cases_.push_back({value, {context_.bool_val(false), context_.bool_val(true)}});
  if (value.is_int()) pool_.push_back(value);
  captures_[index] = value;
  return value;
}

// Known: the rule fires for powers of two alone.
expr RuleEncoding::exponent(int index) {
  if (exponents_[index]) return *exponents_[index];
  if (!domain().is_vector()) throw std::logic_error("prover: log2 of no vector");
  const expr k = constant("log2_" + name_of(index));
  facts.push_back(capture(index) == z3::shl(bits(1), k));
  const unsigned count = domain().bits() - (is_signed() ? 1 : 0);
  facts.push_back(z3::ult(k, bits(count)));
  cases_.push_back({k, {}});
  for (unsigned i = 0; i < count; ++i) cases_.back().ways.push_back(bits(i));
  exponents_[index] = k;
  return k;
}

Sort RuleEncoding::operand_sort(const Pattern& p, int i, Sort place) const {
  for (int s = p[i].op == Op::Where ? 1 : 0; s < p[i].num_sources; ++s) {
    const Sort sort = rewrite::sort_of(p, p[i].sources[s]);
    if (sort != Sort::Unknown) return sort;
  }
  // Only literals: operands of a comparison are of the element type.
  return ir::op_class(p[i].op) == ir::OpClass::Compare ? Sort::Element : place;
}

expr RuleEncoding::encode(const Pattern& p, int i, Sort place) {
  const PatternNode& node = p[i];
  switch (node.kind) {
    case NodeKind::Capture:
      return capture(node.capture);
    case NodeKind::Literal:
      return place == Sort::Bool ? context_.bool_val(node.value != 0) : literal(node.value);
    case NodeKind::Log2:
      return exponent(node.capture);
    case NodeKind::Fold:
    case NodeKind::Repeat:  // in one lane, which stands for all
    case NodeKind::Lanes:
    case NodeKind::Stacked:
      return encode(p, node.sources[0], place);
    case NodeKind::Operation:
      return encode_operation(p, i, place);
    default:
      throw std::logic_error("prover: " + to_string(p, i));
  }
}

expr RuleEncoding::encode_operation(const Pattern& p, int i, Sort place) {
  const PatternNode& node = p[i];
  const Sort sort = operand_sort(p, i, place);
  switch (node.op) {
    case Op::Where: {
      const expr c = encode(p, node.sources[0], Sort::Bool);
      return z3::ite(c, encode(p, node.sources[1], sort), encode(p, node.sources[2], sort));
    }
    case Op::Cast: {  // of a bool, or to the same type
      const expr a = encode(p, node.sources[0], sort);
      return a.is_bool() && domain().theory != Theory::Bool ? z3::ite(a, literal(1), literal(0)) : a;
    }
    case Op::Reshape:
    case Op::Expand:
    case Op::Pad:
      return encode_movement(p, i);
    case Op::Bitcast:  // to the same type
      return encode(p, node.sources[0], place);
    // An element or lane at a time.
    case Op::Contiguous:
    case Op::Cat:
    case Op::Stack:
    case Op::Broadcast:
    case Op::Extract:
      if (node.num_sources != 1) throw std::logic_error("prover: " + to_string(p, i));
      return encode(p, node.sources[0], place);
    default:
      break;
  }
  const expr a = encode(p, node.sources[0], sort);
  const expr result = node.num_sources == 1 ? unary(node.op, a) : binary(node.op, a, encode(p, node.sources[1], sort));
  if (result.is_int() && node.num_sources == 2) pool_.push_back(result);
  return result;
}

// Mathematical integers, as Int or as vectors wide enough for a sum.
expr RuleEncoding::wide(const expr& a) {
  if (a.is_int()) return a;
  if (a.is_bool()) return z3::ite(a, wide_value(1), wide_value(0));
  const unsigned more = wide_bits() - domain().bits();
  return is_signed() ? z3::sext(a, more) : z3::zext(a, more);
}

expr RuleEncoding::wide_value(std::int64_t value) {
  return domain().is_vector() ? context_.bv_val(value, wide_bits()) : context_.int_val(value);
}

// Any bound that the compiler may know.
expr RuleEncoding::bound(int index, bool max) {
  std::optional<expr>& slot = max ? highs_[index] : lows_[index];
  if (slot) return *slot;
  const expr value = wide(capture(index));
  const std::string name = (max ? "hi_" : "lo_") + name_of(index);
  const bool vectors = domain().is_vector();
  const expr end = vectors ? context_.bv_const(name.c_str(), wide_bits()) : context_.int_const(name.c_str());
  facts.push_back(max ? value <= end : end <= value);
  if (vectors) {
    const expr limit = z3::shl(wide_value(1), wide_value(domain().bits()));
    facts.push_back(end >= -limit && end <= limit);
  }
  slot = end;
  return end;
}

// A capture or a small literal of a vector domain as it is, without widening.
std::optional<expr> RuleEncoding::narrow(const Pattern& p, int i) {
  const PatternNode& node = p[i];
  if (!domain().is_vector()) return std::nullopt;
  if (node.kind == NodeKind::Capture && !rewrite::is_bool_capture(node.capture)) return capture(node.capture);
  const bool fits = node.value < 128 && node.value >= (is_signed() ? -128 : 0);
  return node.kind == NodeKind::Literal && fits ? std::optional<expr>(literal(node.value)) : std::nullopt;
}

expr RuleEncoding::condition(const Pattern& p, int i) {
  const PatternNode& node = p[i];
  if (node.kind == NodeKind::Operation && ir::op_class(node.op) == ir::OpClass::Compare) {
    const auto a = narrow(p, node.sources[0]), b = narrow(p, node.sources[1]);
    if (a && b) return binary(node.op, *a, *b);
  }
  switch (node.kind) {
    case NodeKind::Literal:
      return wide_value(node.value);
    case NodeKind::Capture:
      return wide(capture(node.capture));
    case NodeKind::VMin:
      return bound(node.capture, false);
    case NodeKind::VMax:
      return bound(node.capture, true);
    case NodeKind::Log2:
      return z3::zext(exponent(node.capture), wide_bits() - domain().bits());
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
      break;
  }
  if (!a.is_int()) throw std::logic_error("prover: a condition of a fixed-width rule: " + to_string(p, i));
  switch (node.op) {
    case Op::Mul:
      return a * b;
    case Op::FloorDiv:
      return divide(Op::FloorDiv, a, b).quotient;
    case Op::FloorMod:
      return divide(Op::FloorDiv, a, b).remainder;
    default:
      throw std::logic_error("prover: condition " + to_string(p, i));
  }
}

void RuleEncoding::search_near_zero() {
  for (const auto& capture : captures_) {
    if (capture && capture->is_int()) facts.push_back(*capture >= -6 && *capture <= 6);
  }
}

expr RuleEncoding::divide_real(const expr& a, const expr& b) {
  facts.push_back(b != 0);  // fast maths divides nothing by zero
  return a / b;
}

}  // namespace hearth::test
