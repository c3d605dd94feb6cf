// Mutants of declarative rules: each is refuted, or listed with the reason why it is no mistake. A listed one must
// still be made, must not be refuted, and must be what the list claims of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "tests/unit/rules/families.h"
#include "tests/unit/rules/mutants.h"
#include "tests/unit/rules/prover.h"
#include "tests/unit/rules/report.h"
#include "tests/unit/rules/surviving_mutants.h"

using namespace hearth;
using namespace hearth::test;
using ir::Scalar;
using rewrite::Rule;

namespace {

std::vector<Domain> mutant_domains(const Family& family, const Rule& rule) {
  return family.real_numbers ? std::vector<Domain>{kReal} : domains_of(rule.dtypes);
}

// Where counterexamples are looked for, small first; a mutant that none of these refutes is proved over all domains.
bool refuted_somewhere(const Family& family, const Rule& rule) {
  std::vector<Domain> all = mutant_domains(family, rule);
  const auto is_large = [](const Domain& d) {
    return (d.is_vector() && d.bits() > 16) || d.type == Scalar::F32 || d.type == Scalar::F64;
  };
  std::erase_if(all, is_large);
  return std::ranges::any_of(all, [&](const Domain& domain) { return refuted(rule, domain); });
}

// What the table claims, over every domain of the rule.
bool claim_holds(const Family& family, const Rule& rule, SurvivingMutant::Claim claim) {
  bool never = true, right = true;
  for (const Domain& domain : mutant_domains(family, rule)) {
    const Verdict verdict = prove(rule, domain).verdict;
    never &= verdict == Verdict::Vacuous;
    if (verdict == Verdict::Refuted) return false;
    right &= verdict == Verdict::Proved || verdict == Verdict::Vacuous;
  }
  // A claim that is too weak has to be mended as well.
  return claim == (never   ? SurvivingMutant::Claim::Never
                   : right ? SurvivingMutant::Claim::Proved
                           : SurvivingMutant::Claim::NotRefuted);
}

}  // namespace

TEST_CASE("a mutated rule is refuted, or listed with a reason", "[mutants]") {
  std::map<std::string, const SurvivingMutant*> listed;
  for (const SurvivingMutant& row : surviving_mutants()) {
    INFO(row.text);
    CHECK(listed.emplace(row.text, &row).second);
    CHECK_FALSE(row.reason.text.empty());
  }
  int killed = 0, survived = 0, conditions = 0, unproved = 0;
  for (const Family& family : families()) {
    for (const Rule& rule : instances(family)) {
      if (rule.fn != nullptr || rule.types != nullptr) continue;
      for (const Rule& mutant : mutants(rule)) {
        const std::string text = std::string(family.name) + "/" + to_string(mutant);
        const auto row = listed.find(text);
        const bool is_refuted = refuted_somewhere(family, mutant);
        (is_refuted ? killed : survived) += 1;
        conditions += is_refuted && to_string(mutant.when) != to_string(rule.when);
        INFO(text << "\n  of " << to_string(rule) << (is_refuted ? ": refuted" : ": not refuted"));
        CHECK(is_refuted == (row == listed.end()));
        if (row == listed.end()) continue;
        CHECK(claim_holds(family, mutant, row->second->reason.claim));
        unproved += row->second->reason.claim == SurvivingMutant::Claim::NotRefuted;
        listed.erase(row);
      }
    }
  }
  for (const auto& [text, row] : listed) FAIL_CHECK(text << ": listed, but no rule has this mutant");
  report("mutants of rules: " + std::to_string(killed) + " refuted (" + std::to_string(conditions) +
         " of conditions), " + std::to_string(survived) + " listed as no mistake, of which " +
         std::to_string(unproved) + " Z3 does not prove");
}
