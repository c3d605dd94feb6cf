// Rule functions over index expressions: what they make of random expressions, firing by firing, is proved by Z3 to be
// equal. Wrong results of theirs are refuted.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"
#include "tests/fuzz/simplify/generator.h"
#include "tests/unit/rules/instance_prover.h"
#include "tests/unit/rules/report.h"

using namespace hearth;
using namespace hearth::test;
using ir::Op;
using ir::UOpRef;

namespace {

constexpr std::uint64_t kSimplified = 200;
constexpr int kMin = 100;       // distinct proved instances a rule function
constexpr int kMaxUnknown = 8;  // percent: products of variables are beyond any limit

struct Tally {
  int fired = 0, proved = 0, unknown = 0;
  std::set<std::string> seen;
};

// Proves an instance, unless it was seen before.
void prove_once(std::string_view rule, Tally& tally, UOpRef before, UOpRef after) {
  ++tally.fired;
  if (!tally.seen.insert(ir::print(before)).second) return;
  const Proof proof = prove_instance(before, after);
  INFO(rule << "\n" << ir::print(before) << "became\n" << ir::print(after) << proof.detail);
  CHECK((proof.verdict != Verdict::Refuted));
  tally.proved += proof.verdict == Verdict::Proved;
  tally.unknown += proof.verdict == Verdict::Unknown;
}

class ProveFirings : public rewrite::FireObserver {
 public:
  explicit ProveFirings(std::map<std::string_view, Tally>& tallies) : tallies_(tallies) {}
  void fired(const rewrite::Rule& rule, UOpRef before, UOpRef after) override {
    const auto found = tallies_.find(rule.name);
    if (found != tallies_.end()) prove_once(rule.name, found->second, before, after);
  }

 private:
  std::map<std::string_view, Tally>& tallies_;
};

UOpRef random_root(ir::Graph& graph, Generator& generator, std::uint64_t seed) {
  static constexpr Op kCompare[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
  const UOpRef a = generator.index(3);
  return seed % 2 == 0 ? a : graph.binary(kCompare[seed / 2 % 4], a, generator.index(seed % 3 == 0 ? 0 : 2));
}

// Every firing in the simplification of some expressions; those of the function alone, until there are enough.
void prove_instances(std::span<const rewrite::Rule> rules, std::map<std::string_view, Tally>& tallies) {
  for (std::uint64_t seed = 0; seed < kSimplified; ++seed) {
    ir::Graph graph;
    Generator generator(graph, seed);
    const UOpRef root = random_root(graph, generator, seed);
    const ProveFirings observer(tallies);
    CHECK(rules::simplify(graph, root).ok());
  }
  for (const rewrite::Rule& rule : rules) {
    if (rule.fn == nullptr) continue;
    Tally& tally = tallies[rule.name];
    for (std::uint64_t seed = kSimplified; seed < 40000 && tally.proved < kMin; ++seed) {
      ir::Graph graph;
      rewrite::Context context(graph);
      Generator generator(graph, seed);
      for (UOpRef node : ir::toposort(random_root(graph, generator, seed))) {
        const UOpRef result = rewrite::apply(rule, context, node);
        if (result != nullptr && result != node) prove_once(rule.name, tally, node, result);
      }
    }
  }
}

}  // namespace

TEST_CASE("what a rule function makes of an index expression is proved, firing by firing", "[instances]") {
  std::map<std::string_view, Tally> tallies;
  std::vector<rewrite::Rule> functions;
  for (const auto rules : {rules::index_sum_rules(), rules::index_divmod_rules(), rules::index_compare_rules()}) {
    std::ranges::copy_if(rules, std::back_inserter(functions), [](const auto& rule) { return rule.fn != nullptr; });
  }
  for (const rewrite::Rule& rule : functions) tallies[rule.name];
  REQUIRE(tallies.size() >= 7);
  prove_instances(functions, tallies);
  for (const auto& [name, tally] : tallies) {
    INFO(name << ": " << tally.proved << " of " << tally.seen.size() << " proved");
    CHECK(tally.proved >= kMin);
    CHECK(tally.unknown * 100 <= static_cast<int>(tally.seen.size()) * kMaxUnknown);
    report("instances, " + std::string(name) + ": " + std::to_string(tally.proved) + " proved of " +
           std::to_string(tally.seen.size()) + " distinct (" + std::to_string(tally.fired) + " firings), " +
           std::to_string(tally.unknown) + " not within Z3's limit");
  }
}

TEST_CASE("wrong results of index rules are refuted", "[instances]") {
  ir::Graph g;
  const UOpRef n = g.var("n", 1, 12, 0), s = g.var("s", -9, 9, 1), i = g.range(n, 0, ir::RangeKind::Loop);
  const auto c = [&](std::int64_t value) { return g.index(value); };
  const auto refuted = [&](UOpRef before, UOpRef after) {
    return prove_instance(before, after).verdict == Verdict::Refuted;
  };
  CHECK(refuted(g.floordiv(s, c(4)), g.binary(Op::TruncDiv, s, c(4))));  // it stands for anything
  CHECK(refuted(g.floordiv(g.add(s, c(4)), c(4)), g.floordiv(s, c(4))));
  CHECK(refuted(g.floormod(s, c(4)), s));
  CHECK(refuted(g.lt(i, g.sub(n, c(1))), g.boolean(true)));
  CHECK(refuted(g.lt(g.mul(s, c(2)), c(5)), g.lt(s, c(2))));
  CHECK_FALSE(refuted(g.lt(i, n), g.boolean(true)));
  CHECK_FALSE(refuted(g.floormod(g.add(g.mul(s, n), i), n), i));
}
