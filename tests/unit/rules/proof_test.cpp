// Every declarative rule is proved, from the object the compiler runs, over every domain of its dtypes; known traps are
// refuted. A domain's width is a test of its own, so that ctest runs them side by side.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/unit/rules/division_lemmas.h"
#include "tests/unit/rules/families.h"
#include "tests/unit/rules/known_answers.h"
#include "tests/unit/rules/prover.h"
#include "tests/unit/rules/report.h"

using namespace hearth;
using namespace hearth::test;
using ir::Scalar;
using rewrite::Rule;

namespace {

// What Z3 does not prove, with the reason. Empty: it proves everything.
struct Unproved {
  std::string_view rule;
  Domain domain;
  std::string_view reason;
};
const std::vector<Unproved>& unproved() {
  static const std::vector<Unproved>& rows = *new std::vector<Unproved>;
  return rows;
}

std::vector<Domain> domains(const Family& family, const Rule& rule) {
  return family.real_numbers ? std::vector<Domain>{kReal} : domains_of(rule.dtypes);
}

// Proves every rule over those of its domains that are among `wanted`.
void prove_all(const std::string& title, const std::vector<Domain>& wanted) {
  int proved = 0, listed = 0;
  for (const Family& family : families()) {
    for (const Rule& rule : instances(family)) {
      if (rule.fn != nullptr || rule.types != nullptr) continue;  // cast_proof_test
      for (const Domain& domain : domains(family, rule)) {
        if (std::ranges::find(wanted, domain) == wanted.end()) continue;
        const auto is_this = [&](const Unproved& row) { return row.rule == rule.name && row.domain == domain; };
        const bool expected = std::ranges::none_of(unproved(), is_this);
        const Proof proof = prove(rule, domain);
        INFO(family.name << ": " << to_string(rule) << " over " << to_string(domain) << ": " << to_string(proof.verdict)
                         << " " << proof.detail << (expected ? "" : ": strike it from the list of what is not proved"));
        CHECK((proof.verdict == Verdict::Proved) == expected);
        (proof.verdict == Verdict::Proved ? proved : listed) += 1;
      }
    }
  }
  CHECK(proved > 0);
  report("proofs, " + title + ": " + std::to_string(proved) + " proved, " + std::to_string(listed) +
         " listed as not proved");
}

}  // namespace

TEST_CASE("index rules hold for all integers", "[index]") { prove_all("index", {domain_of(Scalar::Index)}); }
TEST_CASE("rules hold for 8 bits", "[bits8]") { prove_all("8 bits", {domain_of(Scalar::I8), domain_of(Scalar::U8)}); }
TEST_CASE("rules hold for 16 bits", "[bits16]") {
  prove_all("16 bits", {domain_of(Scalar::I16), domain_of(Scalar::U16)});
}
TEST_CASE("rules hold for 32 bits", "[bits32]") {
  prove_all("32 bits", {domain_of(Scalar::I32), domain_of(Scalar::U32)});
}
TEST_CASE("rules hold for 64 bits", "[bits64]") {
  prove_all("64 bits", {domain_of(Scalar::I64), domain_of(Scalar::U64)});
}
TEST_CASE("rules hold for bools", "[others]") { prove_all("bool", {domain_of(Scalar::Bool)}); }
TEST_CASE("rules hold for every float type", "[others]") {
  for (const Scalar type : {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64, Scalar::F8E4M3, Scalar::F8E5M2}) {
    prove_all(to_string(domain_of(type)), {domain_of(type)});
  }
}
TEST_CASE("fast maths holds for real numbers", "[others]") { prove_all("real numbers (fast maths)", {kReal}); }

TEST_CASE("every declarative rule has a domain, and a family at most 60 rules", "[others]") {
  int declarative = 0, functions = 0;
  for (const Family& family : families()) {
    CHECK(family.rules.size() <= 60);
    for (const Rule& rule : instances(family)) {
      (rule.fn != nullptr ? functions : declarative) += 1;
      INFO(rule.name);
      if (rule.fn == nullptr) CHECK_FALSE(domains(family, rule).empty());
    }
  }
  CHECK(declarative > 150);
  report("rules: " + std::to_string(declarative) + " declarative (operations and alternatives counted apart), " +
         std::to_string(functions) + " functions");
}

// What the proofs above take as true of a quotient that they only name.
TEST_CASE("what proofs use about division is true", "[others]") {
  for (const Scalar type :
       {Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64}) {
    z3::context context;
    const unsigned bits = domain_of(type).bits();
    const bool is_signed = domain_of(type).theory == Theory::Signed;
    const z3::expr a = context.bv_const("a", bits), b = context.bv_const("b", bits);
    const z3::expr q = is_signed ? a / b : z3::udiv(a, b), r = is_signed ? z3::srem(a, b) : z3::urem(a, b);
    for (const DivisionFact& known : division_facts(is_signed, a, b, q, r)) {
      if (known.defines && bits > 8) continue;
      z3::solver solver = z3::tactic(context, "qfbv").mk_solver();
      solver.add(b != 0 && !known.fact);
      INFO(known.name << " over " << ir::to_string(type));
      CHECK(known_answers().check(solver, "qfbv") == z3::unsat);
    }
  }
}

TEST_CASE("known traps and wrong rules are refuted", "[others]") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  struct Wrong {
    Rule rule;
    Scalar type;
  };
  const Wrong wrong[] = {
      {rewrite::rule("nested_div_i8", kSigned, floordiv(floordiv(x, c0), c1), floordiv(x, val(c0 * c1)),
                     c0 > 0 && c1 > 0),
       Scalar::I8},
      {rewrite::rule("nested_div_i16", kSigned, floordiv(floordiv(x, c0), c1), floordiv(x, val(c0 * c1)),
                     c0 > 0 && c1 > 0),
       Scalar::I16},
      {rewrite::rule("lt_move_const_i8", kSigned, x + c0 < c1, x < val(c1 - c0)), Scalar::I8},
      {rewrite::rule("lt_move_const_u16", kUnsigned, x + c0 < c1, x < val(c1 - c0)), Scalar::U16},
      {rewrite::rule("float_add_zero", kFloat, x + 0, x), Scalar::F16},
      {rewrite::rule("float_add_zero_f32", kFloat, x + 0, x), Scalar::F32},
      {rewrite::rule("float_add_zero_fp8", kFloat, x + 0, x), Scalar::F8E4M3},
      {rewrite::rule("float_mul_zero", kFloat, x * 0, 0), Scalar::BF16},
      {rewrite::rule("float_sub_self", kFloat, x - x, 0), Scalar::F16},
      {rewrite::rule("float_le_self", kFloat, x <= x, true), Scalar::F16},
      {rewrite::rule("float_le_self_fp8", kFloat, x <= x, true), Scalar::F8E5M2},
      {rewrite::rule("float_not_lt", kFloat, !(x < y), y <= x), Scalar::F16},
      {rewrite::rule("float_reassociate", kFloat, (x + y) + z, x + (y + z)), Scalar::F16},
      {rewrite::rule("div_self_at_zero", kIndex, floordiv(x, x), 1), Scalar::Index},
      {rewrite::rule("recombine_at_zero", kIndex, floordiv(x, c0) * c0 + floormod(x, c0), x), Scalar::Index},
      {rewrite::rule("trunc_is_floor", kIndex, truncdiv(x, y), floordiv(x, y)), Scalar::Index},
      {rewrite::rule("mul_div_i8", kSigned, floordiv(x * c0, c0), x, c0 > 0), Scalar::I8},
      // Right for 8 bits alone.
      {rewrite::rule("eight_bits", kUnsigned, x < 255, ne(x, 255)), Scalar::U16},
      // A power of two's floor, but not its truncation; a lane of one alternative, but not of the other.
      {rewrite::rule("truncdiv_pow2", kSigned, truncdiv(x, c0), shr(x, val(log2(c0)))), Scalar::I8},
      {rewrite::rule("truncdiv_pow2", kSigned, truncdiv(x, c0), shr(x, val(log2(c0)))), Scalar::I64},
      {rewrite::rule("cast_bool", kInts, cast(p) + x, x), Scalar::U8},
      // An amount that is not zero, lengths that stay longer, another lane's value.
      {rewrite::rule("padded", kSigned, Pattern::operation(ir::Op::Pad, x, y, repeat(1)), x), Scalar::I8},
      {rewrite::rule("filled", kSigned, Pattern::operation(ir::Op::Pad, x, y, repeat(0)), y), Scalar::U16},
      {rewrite::rule("not_expanded", kAll, expand(x, rest), x), Scalar::F8E4M3},
      {rewrite::rule("expanded_lane", kInts, extract(stacked(x)), x + 1), Scalar::U8},
      {rewrite::rule("negated_lanes", kInts, stack(lanes_of(x)), -x), Scalar::I8},
      {rewrite::rule("negated_lane", kInts, stack(repeat(-x)), broadcast(x)), Scalar::I8},
  };
  for (const Wrong& entry : wrong) {
    const Proof proof = prove(entry.rule, domain_of(entry.type));
    INFO(rewrite::to_string(entry.rule) << ": " << to_string(proof.verdict));
    CHECK((proof.verdict == Verdict::Refuted));
  }
  report("wrong rules: " + std::to_string(std::size(wrong)) + " refuted");
}

TEST_CASE("one wrong alternative makes a rule wrong", "[others]") {
  using namespace rewrite::dsl;
  const Rule rules[] = {rewrite::rule("t", rewrite::kSigned, any_of(x + 0, x * 1, x - 1), x)};
  const std::vector<Rule> spelled = instances({"t", rules});
  REQUIRE(spelled.size() == 3);
  CHECK((prove(spelled[0], domain_of(Scalar::I8)).verdict == Verdict::Proved));
  CHECK((prove(spelled[1], domain_of(Scalar::I8)).verdict == Verdict::Proved));
  CHECK((prove(spelled[2], domain_of(Scalar::I8)).verdict == Verdict::Refuted));
  // Nested ones combine.
  CHECK(alternatives(any_of(x, any_of(y, z)) + any_of(p, q)).size() == 6);
}

TEST_CASE("a condition that never holds proves nothing, nor does one of which nobody knows", "[others]") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  const Rule never = rewrite::rule("never", kInts, x + 0, 1, c0 > 1 && c0 < 2);
  for (const Scalar type : {Scalar::Index, Scalar::I8, Scalar::U64}) {
    CHECK((prove(never, domain_of(type)).verdict == Verdict::Vacuous));
  }
  const Rule some = rewrite::rule("some", kInts, x + 0, x, vmin(x) > 3 && vmax(x) < 300);
  for (const Scalar type : {Scalar::Index, Scalar::I8, Scalar::U64}) {
    CHECK((prove(some, domain_of(type)).verdict == Verdict::Proved));
    const Proof cut_short = prove(some, domain_of(type), {.search = 1, .first = 1, .lemmas = 1});
    CHECK((cut_short.verdict == Verdict::Unknown));
    CHECK(cut_short.detail.find("whether the condition ever holds") == 0);
  }
}
