#include "tests/unit/bounds/access_prover.h"

#include <z3++.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace hearth::test {
namespace {

using ir::Op;
using ir::UOpRef;
using z3::expr;

constexpr unsigned kEffort = 500'000;  // Z3's work units: the same answer on a busy machine
const ir::DType kIndex(ir::Scalar::Index), kBool(ir::Scalar::Bool);

class Encoder {
 public:
  explicit Encoder(z3::context& context) : context_(context), domains_(context) {}

  // The value of one lane of an index or bool expression.
  expr value(UOpRef x, int lane) {
    const bool is_vector = x->dtype.lanes > 1;
    const auto key = std::make_pair(x, is_vector ? lane : 0);
    auto known = values_.find(key);
    if (known != values_.end()) return known->second;
    expr result = make(x, lane);
    values_.emplace(key, result);
    return result;
  }
  const z3::expr_vector& domains() const { return domains_; }
  void assume_in_loop(UOpRef range) { value(range, 0); }

 private:
  expr opaque(UOpRef x) {
    const std::string name = "x" + std::to_string(values_.size()) + "_" + std::to_string(x->id);
    if (x->dtype.element() == kBool) return context_.bool_const(name.c_str());
    expr result = context_.int_const(name.c_str());
    const ir::DType type = x->dtype.element();
    if (ir::is_int(type) && type != kIndex && ir::bit_width(type) < 64) {
      domains_.push_back(result >= context_.int_val(ir::int_min(type)));
      domains_.push_back(result <= context_.int_val(ir::int_max(type)));
    }
    return result;
  }

  expr number(std::int64_t n) { return context_.int_val(n); }

  expr make(UOpRef x, int lane) {
    const auto s = [&](std::size_t i) { return value(x->source(i), lane); };
    const ir::DType type = x->dtype.element();
    switch (x->op) {
      case Op::Broadcast:
        return s(0);
      case Op::Stack:
        return value(x->source(static_cast<std::size_t>(lane)), 0);
      default:
        break;
    }
    if (type == kBool) {
      const bool of_index = !x->sources.empty() && x->source(0)->dtype.element() == kIndex;
      const bool of_bool = !x->sources.empty() && x->source(0)->dtype.element() == kBool;
      switch (x->op) {
        case Op::Const:
          return context_.bool_val(x->int_value() != 0);
        case Op::And:
          return s(0) && s(1);
        case Op::Or:
          return s(0) || s(1);
        case Op::Not:
          return !s(0);
        case Op::Lt:
          return of_index ? s(0) < s(1) : opaque(x);
        case Op::Le:
          return of_index ? s(0) <= s(1) : opaque(x);
        case Op::Eq:
          return of_index || of_bool ? s(0) == s(1) : opaque(x);
        case Op::Ne:
          return of_index || of_bool ? s(0) != s(1) : opaque(x);
        case Op::Where:
          return z3::ite(s(0), s(1), s(2));
        default:
          return opaque(x);
      }
    }
    if (type != kIndex) return fixed_width(x, lane);
    switch (x->op) {
      case Op::Const:
        return number(x->int_value());
      case Op::Var: {
        expr v = opaque(x);
        domains_.push_back(v >= number(x->as<ir::VarInfo>().min) && v <= number(x->as<ir::VarInfo>().max));
        return v;
      }
      case Op::Range: {
        expr size = value(x->source(0), 0), r = opaque(x);
        domains_.push_back(r >= 0 && r < size);
        return r;
      }
      case Op::Add:
        return s(0) + s(1);
      case Op::Sub:
        return s(0) - s(1);
      case Op::Neg:
        return -s(0);
      case Op::Mul:
        return s(0) * s(1);
      case Op::Min:
        return z3::ite(s(0) < s(1), s(0), s(1));
      case Op::Max:
        return z3::ite(s(0) < s(1), s(1), s(0));
      case Op::Where:
        return z3::ite(s(0), s(1), s(2));
      case Op::FloorDiv:
      case Op::FloorMod: {
        // Z3's div and mod are floored for a positive divisor; x div 0 = x mod 0 = 0; others are left open.
        const expr a = s(0), b = s(1);
        const expr positive = x->is(Op::FloorDiv) ? a / b : z3::mod(a, b);
        if (b.is_numeral()) return b.get_numeral_int64() > 0 ? positive : opaque(x);
        return z3::ite(b > 0, positive, z3::ite(b == 0, number(0), opaque(x)));
      }
      case Op::Cast:
        if (x->source(0)->dtype.element() == kBool) return z3::ite(s(0), number(1), number(0));
        return ir::is_int(x->source(0)->dtype) ? s(0) : opaque(x);
      default:
        return opaque(x);
    }
  }

  // What neither wraps nor rounds; anything else may be any value of its type.
  expr fixed_width(UOpRef x, int lane) {
    const auto s = [&](std::size_t i) { return value(x->source(i), lane); };
    if (!ir::is_int(x->dtype)) return opaque(x);
    const ir::DType type = x->dtype.element();
    switch (x->op) {
      case Op::Const:
        return type.scalar == ir::Scalar::U64 && x->int_value() < 0 ? opaque(x) : number(x->int_value());
      case Op::Where:
        return z3::ite(s(0), s(1), s(2));
      case Op::Min:
        return z3::ite(s(0) < s(1), s(0), s(1));
      case Op::Max:
        return z3::ite(s(0) < s(1), s(1), s(0));
      case Op::Cast: {
        const ir::DType from = x->source(0)->dtype.element();
        if (from == kBool) return z3::ite(s(0), number(1), number(0));
        const bool fits = ir::is_int(from) && from != kIndex && ir::bit_width(from) < 64 && ir::bit_width(type) < 64 &&
                          ir::int_min(type) <= ir::int_min(from) && ir::int_max(type) >= ir::int_max(from);
        return fits ? s(0) : opaque(x);
      }
      default:
        return opaque(x);
    }
  }

  z3::context& context_;
  z3::expr_vector domains_;
  std::map<std::pair<UOpRef, int>, expr> values_;
};

}  // namespace

std::vector<KernelAccess> accesses(UOpRef kernel) {
  std::vector<KernelAccess> all;
  for (UOpRef x : ir::toposort(kernel)) {
    if (x->is(Op::Load)) all.push_back({x->source(0), x->dtype.lanes, {}});
    if (x->is(Op::Store)) {
      all.push_back({x->source(0), x->source(1)->dtype.lanes, {x->sources.begin() + 2, x->sources.end()}});
    }
  }
  return all;
}

struct AccessProver::Context {
  z3::context z3;
};

AccessProver::AccessProver() : context_(std::make_unique<Context>()) {}
AccessProver::~AccessProver() = default;

Verdict AccessProver::check(const KernelAccess& access, UOpRef size) {
  z3::context& context = context_->z3;
  Encoder encoder(context);
  UOpRef position = access.index->source(1), gate = access.index->sources.back();
  const bool in_a_row = position->dtype.lanes == 1;
  expr outside = context.bool_val(false);
  const expr end = encoder.value(size, 0);
  // Under one gate the first and the last of a row say it all.
  const int step = in_a_row && gate->dtype.lanes == 1 ? std::max(1, access.lanes - 1) : 1;
  for (int lane = 0; lane < access.lanes; lane += step) {
    expr at = encoder.value(position, lane);
    if (in_a_row) at = at + lane;
    outside = outside || (encoder.value(gate, lane) && (at < 0 || at >= end));
  }
  for (UOpRef range : access.loops) encoder.assume_in_loop(range);
  z3::solver solver(context);
  z3::params params(context);
  params.set("rlimit", kEffort);
  solver.set(params);
  for (unsigned i = 0; i < encoder.domains().size(); ++i) solver.add(encoder.domains()[static_cast<int>(i)]);
  solver.add(outside);
  switch (solver.check()) {
    case z3::unsat:
      return Verdict::Inside;
    case z3::sat: {
      std::ostringstream text;
      text << solver.get_model();
      model_ = text.str();
      return Verdict::Outside;
    }
    default:
      return Verdict::Unknown;
  }
}

}  // namespace hearth::test
