// simplify(e) equals e wherever e is defined, simplifying again changes nothing, and neither runs out of budget.
// HEARTH_FUZZ_COUNT and HEARTH_FUZZ_SEED change how many expressions and which.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"
#include "tests/fuzz/simplify/generator.h"
#include "tests/unit/rules/evaluator.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("simplified expressions keep their value and stay as they are") {
  const std::uint64_t count = setting("HEARTH_FUZZ_COUNT", 20000), seed = setting("HEARTH_FUZZ_SEED", 20260721);
  std::cout << "simplify fuzz: " << count << " expressions, seed " << seed << std::endl;
  const rewrite::RuleSet& rules = rules::standard_rules();
  std::vector<std::uint64_t> fired;
  std::uint64_t points = 0, changed = 0, failures = 0;
  for (std::uint64_t i = 0; i < count && failures < 5; ++i) {
    ir::Graph graph;
    Generator generator(graph, seed + i);
    const ir::UOpRef original = generator.expression(2 + static_cast<int>(i % 4));
    const auto simple = rewrite::rewrite(graph, original, rules, {.max_rewrites = 20000, .fire_counts = &fired});
    INFO("expression " << i << ":\n" << ir::print(original));
    if (!simple.ok()) {
      ++failures;
      INFO(simple.status().message());
      CHECK(simple.ok());
      continue;
    }
    INFO("simplified:\n" << ir::print(*simple));
    changed += *simple != original;
    if (original->dtype != (*simple)->dtype) {
      ++failures;
      CHECK(original->dtype == (*simple)->dtype);
      continue;
    }
    for (int point = 0; point < 24; ++point) {
      Assignment leaves;
      const bool edges = point % 3 == 0;
      auto next = [&](std::uint64_t n) {
        return edges && n > 0 ? (generator.below(2) ? 0 : n - 1) : generator.below(n);
      };
      if (!assign(original, leaves, next) || !assign(*simple, leaves, next)) continue;
      const auto expected = evaluate(original, leaves);
      if (!expected) continue;
      ++points;
      const auto actual = evaluate(*simple, leaves);
      if (!actual || *actual != *expected) {
        ++failures;
        std::string values;
        for (auto [leaf, value] : leaves) values += ir::describe(leaf, 1) + " = " + std::to_string(value) + "\n";
        INFO(values << "expected " << static_cast<std::int64_t>(*expected) << ", got "
                    << (actual ? std::to_string(static_cast<std::int64_t>(*actual)) : "an overflow"));
        CHECK(false);
        break;
      }
    }
    const auto again = rules::simplify(graph, *simple);
    if (!again.ok() || *again != *simple) {
      ++failures;
      INFO("again:\n" << (again.ok() ? ir::print(*again) : std::string(again.status().message())));
      CHECK(false);
    }
  }
  std::size_t used = 0;
  std::string unused;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    used += fired[i] > 0;
    if (fired[i] == 0) unused += " " + std::string(rules.rules()[i].name);
  }
  std::cout << points << " points compared, " << changed << " expressions changed, " << used << " of " << fired.size()
            << " rules fired; not:" << unused << std::endl;
  CHECK(points > count * 10);
  CHECK(changed * 2 > count);
}

TEST_CASE("the fuzzer finds a wrong rule") {
  using namespace rewrite;
  using namespace rewrite::dsl;
  // Holds for index only.
  static constexpr Rule kWrong[] = {rewrite::rule("lt_move_const", kFixed, x + c0 < c1, x < val(c1 - c0))};
  const RuleSet rules({rules::constant_rules(), kWrong});
  bool found = false;
  for (std::uint64_t i = 0; i < 20000 && !found; ++i) {
    ir::Graph graph;
    Generator generator(graph, i);
    const ir::UOpRef original = generator.value(ir::Scalar::Bool, 3);
    const auto simple = rewrite::rewrite(graph, original, rules, {.max_rewrites = 20000});
    REQUIRE(simple.ok());
    for (int point = 0; point < 24 && !found; ++point) {
      Assignment leaves;
      auto next = [&](std::uint64_t n) { return generator.below(n); };
      if (!assign(original, leaves, next) || !assign(*simple, leaves, next)) continue;
      const auto expected = evaluate(original, leaves), actual = evaluate(*simple, leaves);
      found = expected && actual && *expected != *actual;
    }
  }
  CHECK(found);
}
