// Every declarative rule is proved, from the object the compiler runs; mutants and known traps are refuted.
#include <catch2/catch.hpp>

#include <iostream>
#include <map>

#include "tests/unit/rules/families.h"
#include "tests/unit/rules/prover.h"
#include "tests/unit/rules/report.h"

using namespace hearth;
using namespace hearth::test;
using ir::Op;
using rewrite::NodeKind;
using rewrite::Pattern;
using rewrite::Rule;

namespace {

// Wrong neighbours of a rule: without its condition, with a changed constant, operation or capture on the right.
std::vector<Rule> mutants(const Rule& rule) {
  std::vector<Rule> result;
  if (!rule.when.empty()) {
    Rule mutant = rule;
    mutant.when = {};
    result.push_back(mutant);
  }
  for (int i = 0; i < rule.rhs.size(); ++i) {
    const rewrite::PatternNode& node = rule.rhs[i];
    Rule mutant = rule;
    rewrite::PatternNode& changed = mutant.rhs.at(i);
    if (node.kind == NodeKind::Literal) {
      changed.value = node.value == 0 ? 1 : node.value == 1 ? 0 : node.value + 1;
    } else if (node.kind == NodeKind::Operation) {
      static const std::map<Op, Op> others = {{Op::Add, Op::Sub},
                                              {Op::Sub, Op::Add},
                                              {Op::Mul, Op::Add},
                                              {Op::Lt, Op::Le},
                                              {Op::Le, Op::Lt},
                                              {Op::And, Op::Or},
                                              {Op::Or, Op::And},
                                              {Op::Max, Op::Min},
                                              {Op::Min, Op::Max},
                                              {Op::Eq, Op::Ne},
                                              {Op::FloorDiv, Op::FloorMod},
                                              {Op::FloorMod, Op::FloorDiv},
                                              {Op::TruncDiv, Op::TruncMod},
                                              {Op::Ne, Op::Eq}};
      auto other = others.find(node.op);
      if (other == others.end()) continue;
      changed.op = other->second;
    } else if (node.kind == NodeKind::Capture && node.capture == 0) {
      bool has_y = false;
      for (int j = 0; j < rule.lhs.size(); ++j)
        has_y |= rule.lhs[j].kind == NodeKind::Capture && rule.lhs[j].capture == 1;
      if (!has_y) continue;
      changed.capture = 1;
    } else {
      continue;
    }
    result.push_back(mutant);
  }
  return result;
}

// Rules whose condition keeps them from firing for ever, not from being wrong.
bool ends_looping(const Rule& rule) {
  return rule.name == "const_outwards" || rule.name == "bits_outwards" || rule.name == "mod_shift_const";
}

std::vector<Domain> domains(const Family& family, const Rule& rule) {
  return family.real_numbers ? std::vector<Domain>{Domain::Real} : domains_of(rule.dtypes);
}

bool refuted_somewhere(const Family& family, const Rule& rule) {
  for (Domain domain : domains(family, rule)) {
    if (refuted(rule, domain)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every declarative rule is proved for every dtype it is tagged with") {
  int declarative = 0;
  for (const Family& family : families()) {
    CHECK(family.rules.size() <= 60);
    FamilyReport& line = report()[std::string(family.name)];
    for (const Rule& rule : instances(family)) {
      ++line.rules;
      ++(rule.fn != nullptr ? line.functions : line.declarative);
      if (rule.fn != nullptr) continue;
      ++declarative;
      REQUIRE_FALSE(domains(family, rule).empty());
      for (Domain domain : domains(family, rule)) {
        const Proof proof = prove(rule, domain);
        INFO(family.name << ": " << rewrite::to_string(rule) << " over " << to_string(domain) << "\n" << proof.model);
        CHECK(static_cast<int>(proof.verdict) == static_cast<int>(Verdict::Proved));
        if (proof.verdict != Verdict::Proved) continue;
        const bool vectors = domain == Domain::Signed8 || domain == Domain::Unsigned8;
        ++(domain == Domain::Integer ? line.proved_integers : vectors ? line.proved_vectors : line.proved_others);
      }
    }
  }
  CHECK(declarative > 150);
}

TEST_CASE("mutated rules are refuted, and no condition is needless") {
  for (const Family& family : families()) {
    FamilyReport& line = report()[std::string(family.name)];
    for (const Rule& rule : instances(family)) {
      if (rule.fn != nullptr) continue;
      for (const Rule& mutant : mutants(rule)) {
        ++line.mutants;
        const bool is_refuted = refuted_somewhere(family, mutant);
        line.refuted += is_refuted;
        const bool dropped_condition = mutant.when.empty() && !rule.when.empty();
        if (dropped_condition && !ends_looping(rule)) {
          INFO(rewrite::to_string(rule));
          CHECK(is_refuted);
        }
      }
    }
    INFO(family.name);
    CHECK(line.refuted * 10 >= line.mutants * 8);  // the rest are true by chance
  }
}

TEST_CASE("known traps and wrong rules are refuted") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  struct Wrong {
    Rule rule;
    Domain domain;
  };
  const Wrong wrong[] = {
      {rewrite::rule("nested_div_i8", kSigned, floordiv(floordiv(x, c0), c1), floordiv(x, val(c0 * c1)),
                     c0 > 0 && c1 > 0),
       Domain::Signed8},
      {rewrite::rule("lt_move_const_i8", kSigned, x + c0 < c1, x < val(c1 - c0)), Domain::Signed8},
      {rewrite::rule("lt_move_const_u8", kUnsigned, x + c0 < c1, x < val(c1 - c0)), Domain::Unsigned8},
      {rewrite::rule("float_add_zero", kFloat, x + 0, x), Domain::Float},
      {rewrite::rule("float_mul_zero", kFloat, x * 0, 0), Domain::Float},
      {rewrite::rule("float_sub_self", kFloat, x - x, 0), Domain::Float},
      {rewrite::rule("float_le_self", kFloat, x <= x, true), Domain::Float},
      {rewrite::rule("float_not_lt", kFloat, !(x < y), y <= x), Domain::Float},
      {rewrite::rule("float_reassociate", kFloat, (x + y) + z, x + (y + z)), Domain::Float},
      {rewrite::rule("div_self_at_zero", kIndex, floordiv(x, x), 1), Domain::Integer},
      {rewrite::rule("recombine_at_zero", kIndex, floordiv(x, c0) * c0 + floormod(x, c0), x), Domain::Integer},
      {rewrite::rule("trunc_is_floor", kIndex, truncdiv(x, y), floordiv(x, y)), Domain::Integer},
      {rewrite::rule("mul_div_i8", kSigned, floordiv(x * c0, c0), x, c0 > 0), Domain::Signed8},
  };
  int count = 0;
  for (const Wrong& entry : wrong) {
    const Proof proof = prove(entry.rule, entry.domain);
    INFO(rewrite::to_string(entry.rule));
    CHECK(static_cast<int>(proof.verdict) == static_cast<int>(Verdict::Refuted));
    count += proof.verdict == Verdict::Refuted;
  }
  // A condition that never holds would prove anything.
  const Rule vacuous = rewrite::rule("vacuous", kIndex, x + 0, 1, c0 > 1 && c0 < 2);
  CHECK(static_cast<int>(prove(vacuous, Domain::Integer).verdict) == static_cast<int>(Verdict::Vacuous));
  std::cout << "wrong rules refuted: " << count << "\n";
}
