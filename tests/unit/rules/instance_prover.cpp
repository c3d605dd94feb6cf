#include "tests/unit/rules/instance_prover.h"

#include <z3++.h>

#include <limits>
#include <map>

#include "tests/unit/rules/known_answers.h"

namespace hearth::test {

using ir::Op;
using ir::UOpRef;
using z3::expr;

namespace {

constexpr unsigned kLimit = 1'000'000;  // in Z3's units

class Instance {
 public:
  expr of(UOpRef node) {
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    const expr value = make(node);
    known_.emplace(node, value);
    return value;
  }
  z3::context& context() { return context_; }
  const z3::expr_vector& facts() const { return facts_; }

 private:
  static bool is_number(UOpRef node) { return node->dtype == ir::DType(ir::Scalar::Index); }
  static bool is_truth(UOpRef node) { return node->dtype == ir::DType(ir::Scalar::Bool); }

  expr make(UOpRef node) {
    if (!is_number(node) && !is_truth(node)) throw std::logic_error("instance prover: a value of another type");
    if (node->is_const()) {
      return is_truth(node) ? context_.bool_val(node->int_value() != 0) : context_.int_val(node->int_value());
    }
    for (UOpRef source : node->sources) {
      if (!is_number(source) && !is_truth(source)) return any_value(node);
    }
    const auto s = [&](std::size_t i) { return of(node->source(i)); };
    switch (node->op) {
      case Op::Range: {
        const expr value = any_value(node);
        facts_.push_back(value >= 0 && value < s(0));  // its body runs for these alone
        return value;
      }
      case Op::Where:
        return z3::ite(s(0), s(1), s(2));
      case Op::Neg:
        return -s(0);
      case Op::Not:
        return is_truth(node) ? !s(0) : any_value(node);
      case Op::Lt:
      case Op::Le:
      case Op::Eq:
      case Op::Ne:
        return compare(node->op, s(0), s(1));
      default:
        return node->sources.size() == 2 ? binary(node, s(0), s(1)) : any_value(node);
    }
  }

  expr compare(Op op, const expr& a, const expr& b) {
    if (op == Op::Eq) return a == b;
    if (op == Op::Ne) return a != b;
    if (a.is_bool()) return op == Op::Lt ? !a && b : !a || b;
    return op == Op::Lt ? a < b : a <= b;
  }

  expr binary(UOpRef node, const expr& a, const expr& b) {
    if (is_truth(node)) {
      if (!a.is_bool()) return any_value(node);
      return node->op == Op::And   ? a && b
             : node->op == Op::Or  ? a || b
             : node->op == Op::Xor ? a != b
                                   : any_value(node);
    }
    switch (node->op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a - b;
      case Op::Mul:
        return a * b;
      case Op::Max:
        return z3::ite(a < b, b, a);
      case Op::Min:
        return z3::ite(b < a, b, a);
      case Op::FloorDiv:
        return quotient(a, b);
      case Op::FloorMod:
        return z3::ite(b == 0, context_.int_val(0), a - b * quotient(a, b));
      default:
        return any_value(node);
    }
  }

  // Z3's own leaves a remainder >= 0, whatever the signs.
  expr quotient(const expr& a, const expr& b) {
    return z3::ite(b == 0, context_.int_val(0), z3::ite(b > 0, a / b, (-a) / (-b))).simplify();
  }

  expr any_value(UOpRef node) {
    const std::string name = "v" + std::to_string(known_.size()) + "_" + std::to_string(node->id);
    if (is_truth(node)) {
      const bool known = node->bounds.min == node->bounds.max;
      return known ? context_.bool_val(node->bounds.min != 0) : context_.bool_const(name.c_str());
    }
    const expr value = context_.int_const(name.c_str());
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
    if (node->bounds.min != kMin) facts_.push_back(value >= context_.int_val(node->bounds.min));
    if (node->bounds.max != kMax) facts_.push_back(value <= context_.int_val(node->bounds.max));
    return value;
  }

  z3::context context_;
  z3::expr_vector facts_{context_};
  std::map<UOpRef, expr> known_;
};

}  // namespace

Proof prove_instance(UOpRef before, UOpRef after) {
  Instance instance;
  const expr a = instance.of(before), b = instance.of(after);
  z3::solver solver(instance.context(), z3::solver::simple());
  z3::params params(instance.context());
  params.set("rlimit", kLimit);
  solver.set(params);
  for (unsigned i = 0; i < instance.facts().size(); ++i) solver.add(instance.facts()[static_cast<int>(i)]);
  solver.add(a != b);
  const z3::check_result found = known_answers().check(solver, std::to_string(kLimit));
  if (found == z3::unsat) return {Verdict::Proved, ""};
  if (found == z3::unknown) return {Verdict::Unknown, solver.reason_unknown()};
  return {Verdict::Refuted, model_of(solver)};
}

}  // namespace hearth::test
