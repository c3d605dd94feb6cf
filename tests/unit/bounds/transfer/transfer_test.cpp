// vmin and vmax are sound: no value leaves the bounds that compiler/ir/bounds derives; and the check that says so finds
// every one of the mistakes planted in it.
#include <catch2/catch.hpp>

#include <set>

#include "tests/unit/bounds/transfer/bounds_mutants.h"
#include "tests/unit/bounds/transfer/transfer_checker.h"
#include "tests/unit/rules/report.h"

using namespace hearth;
using namespace hearth::test;

TEST_CASE("no value leaves its bounds") {
  TransferCounts counts;
  CHECK(check_transfer(ir::derive_bounds, Ends::One, &counts).value_or("") == "");
  CHECK(counts.cases > 100'000'000);
  report("bounds: no value outside in " + std::to_string(counts.cases) + " operations on intervals");
}

TEST_CASE("every mistake planted in the bounds is found") {
  std::set<std::string> names;
  for (const BoundsMutant& mutant : bounds_mutants()) {
    INFO(mutant.name);
    CHECK(names.insert(mutant.name).second);
    CHECK(check_transfer(mutant.transfer, Ends::Corners).has_value());
  }
  CHECK(names.size() >= 60);
  report("mutants of bounds: " + std::to_string(names.size()) + " of " + std::to_string(names.size()) + " refuted");
}
