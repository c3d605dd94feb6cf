// Mutants of declarative rules: each is refuted, or listed with the reason why it is no mistake. A listed one must
// still be made, must not be refuted, and must be proved to be right.
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

std::vector<Domain> domains(const Family& family, const Rule& rule) {
  return family.real_numbers ? std::vector<Domain>{kReal} : domains_of(rule.dtypes);
}

// Where counterexamples are looked for, small first; a mutant that none of these refutes is proved over all domains.
bool refuted_somewhere(const Family& family, const Rule& rule) {
  std::vector<Domain> all = domains(family, rule);
  const auto is_large = [](const Domain& d) {
    return (d.is_vector() && d.bits() > 16) || d.type == Scalar::F32 || d.type == Scalar::F64;
  };
  std::erase_if(all, is_large);
  return std::ranges::any_of(all, [&](const Domain& domain) { return refuted(rule, domain); });
}

bool proved_everywhere(const Family& family, const Rule& rule) {
  return std::ranges::all_of(domains(family, rule), [&](const Domain& domain) {
    const Verdict verdict = prove(rule, domain).verdict;
    return verdict == Verdict::Proved || verdict == Verdict::Vacuous;
  });
}

}  // namespace

TEST_CASE("a mutated rule is refuted, or listed with a reason", "[mutants]") {
  std::map<std::string, const SurvivingMutant*> listed;
  for (const SurvivingMutant& row : surviving_mutants()) {
    INFO(row.text);
    CHECK(listed.emplace(row.text, &row).second);
    CHECK_FALSE(row.reason.empty());
  }
  int killed = 0, survived = 0, conditions = 0;
  for (const Family& family : families()) {
    for (const Rule& rule : instances(family)) {
      if (rule.fn != nullptr) continue;
      for (const Rule& mutant : mutants(rule)) {
        const std::string text = std::string(family.name) + "/" + to_string(mutant);
        const auto row = listed.find(text);
        const bool is_refuted = refuted_somewhere(family, mutant);
        (is_refuted ? killed : survived) += 1;
        conditions += is_refuted && to_string(mutant.when) != to_string(rule.when);
        INFO(text << "\n  of " << to_string(rule) << (is_refuted ? ": refuted" : ": not refuted"));
        CHECK(is_refuted == (row == listed.end()));
        if (row == listed.end()) continue;
        CHECK(proved_everywhere(family, mutant));
        listed.erase(row);
      }
    }
  }
  for (const auto& [text, row] : listed) FAIL_CHECK(text << ": listed, but no rule has this mutant");
  report("mutants of rules: " + std::to_string(killed) + " refuted (" + std::to_string(conditions) +
         " of conditions), " + std::to_string(survived) + " listed: proved to be right");
}
