// simplify(e) equals e wherever e is defined, simplifying again changes nothing, and neither runs out of budget.
// HEARTH_FUZZ_COUNT and HEARTH_FUZZ_SEED change how many expressions and which: expression i is made from seed + i.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"
#include "tests/fuzz/simplify/checker.h"
#include "tests/fuzz/simplify/generator.h"

using namespace hearth;
using namespace hearth::test;
using ir::UOpRef;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr std::uint64_t kCount = 50000, kLongCount = 600000, kSeed = 20260721;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string kind_of(UOpRef root) {
  if (root->is(ir::Op::Index) || root->is(ir::Op::Store)) return "gated access";
  return ir::to_string(root->dtype) + (root->is(ir::Op::Reduce) ? " reduction" : "");
}

std::string rule_names(const rewrite::RuleSet& rules, const std::vector<std::uint64_t>& fired, std::size_t& used) {
  std::string unused;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    used += fired[i] > 0;
    if (fired[i] == 0) unused += " " + std::string(rules.rules()[i].name);
  }
  return unused;
}

}  // namespace

TEST_CASE("simplified expressions keep their value and stay as they are") {
  const std::uint64_t count = setting("HEARTH_FUZZ_COUNT", kSanitized                                   ? kCount / 4
                                                           : std::getenv("HEARTH_TEST_LONG") != nullptr ? kLongCount
                                                                                                        : kCount);
  const std::uint64_t seed = setting("HEARTH_FUZZ_SEED", kSeed);
  std::cout << "simplify fuzz: " << count << " expressions, seeds " << seed << " to " << seed + count - 1
            << (kSanitized ? " (a part: sanitizers)" : "") << std::endl;
  const rewrite::RuleSet& rules = rules::standard_rules();
  Counts counts, unused_counts;
  std::map<std::string, std::uint64_t> kinds;
  const auto start = std::chrono::steady_clock::now();
  int failures = 0;
  for (std::uint64_t i = 0; i < count && failures < 5; ++i) {
    ir::Graph graph;
    Generator generator(graph, seed + i);
    const UOpRef original = generator.any_expression(2 + static_cast<int>(generator.below(4)));
    ++kinds[kind_of(original)];
    auto failure = check(graph, original, rules, generator.buffer_sizes(), seed + i, counts);
    if (!failure) continue;
    ++failures;
    const UOpRef small = minimize(graph, original, [&](UOpRef part) {
      return check(graph, part, rules, generator.buffer_sizes(), seed + i, unused_counts).has_value();
    });
    failure = check(graph, small, rules, generator.buffer_sizes(), seed + i, unused_counts);
    FAIL_CHECK("HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=" << seed + i << "\n"
                                                       << ir::print(small) << failure.value_or("fails no more"));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const auto& [kind, number] : kinds) std::cout << "  " << kind << ": " << number << "\n";
  std::size_t used = 0;
  const std::string unused = rule_names(rules, counts.fired, used);
  std::cout << "  " << counts.points << " points compared, " << counts.changed << " expressions changed, "
            << seconds.count() << " s\n  " << used << " of " << counts.fired.size() << " rules fired; not:" << unused
            << std::endl;
  CHECK(counts.points > count * 10);
  CHECK(counts.changed * 2 > count);
}

TEST_CASE("the fuzzer finds a wrong rule and makes its example small") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  // Holds for index only.
  static constexpr Rule kWrong[] = {rewrite::rule("lt_move_const", kFixed, x + c0 < c1, x < val(c1 - c0))};
  const RuleSet rules({rules::constant_rules(), kWrong});
  Counts counts;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    ir::Graph graph;
    Generator generator(graph, seed);
    auto fails = [&](UOpRef root) { return check(graph, root, rules, {}, seed, counts).has_value(); };
    const UOpRef original = generator.value(ir::Scalar::Bool, 3);
    if (!fails(original)) continue;
    const UOpRef small = minimize(graph, original, fails);
    INFO(ir::print(original) << "minimised:\n" << ir::print(small));
    CHECK(fails(small));
    CHECK(ir::toposort(small).size() <= 5);  // x + c0 < c1
    return;
  }
  FAIL("not found");
}
