// Rules of casts, proved for every three types that they hold for: of bytes and floats of up to 16 bits by every value of
// the reference semantics, of others by Z3. An index is a signed number of 64 bits, floats are equal when their values
// are and NaN is NaN, and what a cast to fp8 gives is a function of the value that is cast.
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "compiler/codegen/reference/element_ops.h"
#include "tests/unit/rules/families.h"
#include "tests/unit/rules/known_answers.h"
#include "tests/unit/rules/report.h"
#include "tests/unit/rules/z3_operations.h"

using namespace hearth;
using namespace hearth::test;
using ir::DType;
using ir::Op;
using ir::Scalar;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::Rule;
using z3::expr;

namespace {

constexpr Scalar kTypes[] = {Scalar::Bool, Scalar::I8,   Scalar::U8,  Scalar::I16,   Scalar::U16,    Scalar::I32,
                             Scalar::U32,  Scalar::I64,  Scalar::U64, Scalar::Index, Scalar::F8E4M3, Scalar::F8E5M2,
                             Scalar::F16,  Scalar::BF16, Scalar::F32, Scalar::F64};

struct Types {
  Scalar from, through, to;
};
std::string to_string(const Types& types) {
  return ir::to_string(types.from) + " through " + ir::to_string(types.through) + " to " + ir::to_string(types.to);
}

bool is_fp8(Scalar type) { return type == Scalar::F8E4M3 || type == Scalar::F8E5M2; }
int width_of(Scalar type) {
  return type == Scalar::Bool    ? 1
         : type == Scalar::Index ? 64
         : ir::is_float(type)    ? 8 * ir::byte_size(type)
                                 : ir::bit_width(type);
}
// The type that node `i` has, whose place has type `place`.
Scalar type_of(const Pattern& p, int i, const Types& types) {
  if (p[i].kind == NodeKind::Through) return types.through;
  if (p[i].kind == NodeKind::Operation) return types.to;
  if (p[i].kind == NodeKind::Capture && p[i].capture == rewrite::kAnyTypeCapture) return types.from;
  throw std::logic_error("a rule of casts with " + to_string(p, i));
}

// Values as Z3 has them, and casts between them (ir/uop.h).
class Casts {
 public:
  explicit Casts(z3::context& context) : context_(context) {}

  expr value(Scalar type, const std::string& name) {
    if (type == Scalar::Bool) return context_.bool_const(name.c_str());
    if (ir::is_float(type)) return context_.constant(name.c_str(), sort_of(type));
    return context_.bv_const(name.c_str(), static_cast<unsigned>(width_of(type)));
  }

  expr cast(const expr& x, Scalar from, Scalar to) {
    if (from == to) return x;
    if (from == Scalar::Bool) {
      if (ir::is_float(to)) return z3::ite(x, number(1, to), number(0, to));
      const auto bits = static_cast<unsigned>(width_of(to));
      return z3::ite(x, context_.bv_val(1, bits), context_.bv_val(0, bits));
    }
    if (to == Scalar::Bool) {
      if (!ir::is_float(from)) return x != context_.bv_val(0, static_cast<unsigned>(width_of(from)));
      return !ast(Z3_mk_fpa_is_zero(context_, x));
    }
    if (ir::is_float(from)) return ir::is_float(to) ? round(x, from, to) : saturate(x, from, to);
    if (ir::is_float(to)) {
      if (is_fp8(to)) throw std::logic_error("an integer to fp8");
      return ast(is_unsigned(from) ? Z3_mk_fpa_to_fp_unsigned(context_, nearest(), x, sort_of(to))
                                   : Z3_mk_fpa_to_fp_signed(context_, nearest(), x, sort_of(to)));
    }
    const int more = width_of(to) - width_of(from);
    if (more <= 0) return x.extract(static_cast<unsigned>(width_of(to) - 1), 0);
    return is_unsigned(from) ? z3::zext(x, static_cast<unsigned>(more)) : z3::sext(x, static_cast<unsigned>(more));
  }

 private:
  static bool is_unsigned(Scalar type) { return ir::is_unsigned_int(type); }
  expr ast(Z3_ast a) { return expr(context_, a); }
  expr nearest() { return ast(Z3_mk_fpa_round_nearest_ties_to_even(context_)); }
  z3::sort sort_of(Scalar type) {
    return is_fp8(type) ? context_.uninterpreted_sort(ir::to_string(type).c_str()) : float_sort(context_, type);
  }
  expr number(double x, Scalar type) { return ast(Z3_mk_fpa_numeral_double(context_, x, sort_of(type))); }

  expr round(const expr& x, Scalar from, Scalar to) {
    if (!is_fp8(to)) return ast(Z3_mk_fpa_to_fp_float(context_, nearest(), x, sort_of(to)));
    const std::string name = "to_" + ir::to_string(to);
    return context_.function(name.c_str(), sort_of(Scalar::F64), sort_of(to))(cast(x, from, Scalar::F64));
  }

  // To an integer: truncated, to the nearest end beyond the type's, 0 of NaN.
  expr saturate(const expr& x, Scalar from, Scalar to) {
    const auto bits = static_cast<unsigned>(width_of(to));
    const bool is_positive = is_unsigned(to);
    const expr zero = context_.bv_val(0, bits);
    const expr least = is_positive ? zero : z3::shl(context_.bv_val(1, bits), context_.bv_val(bits - 1, bits));
    const expr most = is_positive ? ~zero : ~least;
    const double above = std::ldexp(1.0, static_cast<int>(bits) - (is_positive ? 0 : 1));
    const expr whole = ast(Z3_mk_fpa_round_to_integral(context_, ast(Z3_mk_fpa_round_toward_zero(context_)), x));
    const expr toward_zero = ast(Z3_mk_fpa_round_toward_zero(context_));
    const expr inside = ast(is_positive ? Z3_mk_fpa_to_ubv(context_, toward_zero, whole, bits)
                                        : Z3_mk_fpa_to_sbv(context_, toward_zero, whole, bits));
    const expr below = ast(Z3_mk_fpa_lt(context_, whole, number(is_positive ? 0 : -above, from)));
    const expr beyond = ast(Z3_mk_fpa_geq(context_, whole, number(above, from)));
    const expr is_nan = ast(Z3_mk_fpa_is_nan(context_, x));
    return z3::ite(is_nan, zero, z3::ite(below, least, z3::ite(beyond, most, inside)));
  }

  z3::context& context_;
};

expr encode(Casts& casts, const Pattern& p, int i, const Types& types) {
  if (p[i].kind == NodeKind::Capture) return casts.value(types.from, "u");
  const int source = p[i].sources[0];
  return casts.cast(encode(casts, p, source, types), type_of(p, source, types), type_of(p, i, types));
}

// "" where Z3 proves it.
std::string prove_by_z3(const Rule& rule, const Types& types) {
  z3::context context;
  context.set_rounding_mode(z3::RNE);
  Casts casts(context);
  const expr lhs = encode(casts, rule.lhs, 0, types), rhs = encode(casts, rule.rhs, 0, types);
  z3::solver solver(context);
  solver.add(!(lhs == rhs));
  const z3::check_result found = known_answers().check(solver, "casts");
  if (found == z3::unsat) return "";
  return found == z3::sat ? "refuted: " + model_of(solver) : "unknown";
}

codegen::reference::Element evaluate(const Pattern& p, int i, const Types& types, codegen::reference::Element u) {
  if (p[i].kind == NodeKind::Capture) return u;
  const int source = p[i].sources[0];
  const Scalar from = type_of(p, source, types), to = type_of(p, i, types);
  const codegen::reference::Element x = evaluate(p, source, types, u);
  return from == to ? x : codegen::reference::evaluate(Op::Cast, to, from, std::span(&x, 1)).value();
}

std::string prove_by_values(const Rule& rule, const Types& types) {
  const int bits = width_of(types.from);
  for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
    const auto u = codegen::reference::decode(types.from, code);
    const auto a = evaluate(rule.lhs, 0, types, u), b = evaluate(rule.rhs, 0, types, u);
    if (ir::is_float(types.to) ? std::isnan(a.f) && std::isnan(b.f) : false) continue;
    if (codegen::reference::encode(types.to, a) != codegen::reference::encode(types.to, b))
      return "refuted by " + codegen::reference::to_string(types.from, u);
  }
  return "";
}

bool is_tried(Scalar from) { return width_of(from) <= (ir::is_float(from) ? 16 : 8); }

std::string prove(const Rule& rule, const Types& types) {
  return is_tried(types.from) ? prove_by_values(rule, types) : prove_by_z3(rule, types);
}

// Every three types, those that are the same in a row left out: such casts go by another rule.
template <class F>
void each_three(F&& f) {
  for (const Scalar from : kTypes)
    for (const Scalar through : kTypes)
      for (const Scalar to : kTypes) f(Types{from, through, to});
}

}  // namespace

TEST_CASE("two casts are one, for every three types of the rule", "[others]") {
  for (const Family& family : families()) {
    for (const Rule& rule : family.rules) {
      if (rule.types == nullptr || rule.lhs[0].op != Op::Cast) continue;
      int by_z3 = 0, by_values = 0, others = 0;
      each_three([&](const Types& types) {
        if (!rule.types(DType(types.from), DType(types.through), DType(types.to))) {
          ++others;
          return;
        }
        INFO(rule.name << ": " << to_string(types));
        CHECK(prove(rule, types) == "");
        (is_tried(types.from) ? by_values : by_z3) += 1;
      });
      CHECK(by_z3 > 100);
      report("casts, " + std::string(rule.name) + ": " + std::to_string(by_z3) + " three types proved by Z3, " +
             std::to_string(by_values) + " by every value, " + std::to_string(others) + " are not the rule's");
    }
  }
}

// Bits are what they are: an element is its bits, whichever of the types of its size it has.
TEST_CASE("bits of one size stay the same through another type of that size", "[others]") {
  int rules = 0;
  for (const Family& family : families()) {
    for (const Rule& rule : family.rules) {
      if (rule.types == nullptr || rule.lhs[0].op != Op::Bitcast) continue;
      ++rules;
      each_three([&](const Types& types) {
        if (!rule.types(DType(types.from), DType(types.through), DType(types.to))) return;
        INFO(rule.name << ": " << to_string(types));
        CHECK((ir::byte_size(types.from) == ir::byte_size(types.through) &&
               ir::byte_size(types.through) == ir::byte_size(types.to)));
        CHECK(rule.lhs[rule.lhs[0].sources[0]].op == Op::Bitcast);
        CHECK(rule.rhs[0].op == Op::Bitcast);
      });
    }
  }
  CHECK(rules == 1);
}

TEST_CASE("casts that do not compose are refuted", "[others]") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  const Rule wrong = rewrite::rule("wrong", kAll, cast(through(u)), cast(u));
  const Types pairs[] = {
      {Scalar::I32, Scalar::F32, Scalar::I32},  // 24 bits of 31
      {Scalar::I64, Scalar::F64, Scalar::I64},  // 53 of 63
      {Scalar::I32, Scalar::F64, Scalar::I16},  // saturates, and an integer wraps
      {Scalar::I32, Scalar::I16, Scalar::I32},  // wraps
      {Scalar::U64, Scalar::Index, Scalar::F64}, {Scalar::F64, Scalar::F32, Scalar::F16},  // rounds twice
      {Scalar::F32, Scalar::F16, Scalar::F32},   {Scalar::F32, Scalar::I32, Scalar::F32},
      {Scalar::F64, Scalar::I32, Scalar::Bool},  {Scalar::F16, Scalar::BF16, Scalar::F16},
      {Scalar::I16, Scalar::F16, Scalar::I16},   {Scalar::I8, Scalar::U8, Scalar::I16},
  };
  for (const Types& types : pairs) {
    INFO(to_string(types));
    CHECK_THAT(prove(wrong, types), Catch::StartsWith("refuted"));
  }
}
