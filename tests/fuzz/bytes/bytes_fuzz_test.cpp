// Every decoder of foreign bytes against mutants: half of them from fixed seeds, half from seeds that are drawn anew.
// What is wrong prints its seed: HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=<seed> repeats it.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <iostream>

#include "tests/fuzz/bytes/target.h"
#include "tests/support/fresh_seed.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace hearth::fuzz {
namespace {

volatile std::uint64_t current_seed = 0;
const char* volatile current_target = "";

void print_seed() {
  char text[128];
  const int length = std::snprintf(text, sizeof text, "\n%s: HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=%lu\n",
                                   current_target, current_seed);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(1);
}

struct Totals {
  std::uint64_t inputs = 0, accepted = 0;
};

// `count` mutants of each target, from `first` on; each seed once for every target.
void check_mutants(const Target& target, std::uint64_t first, std::uint64_t count, Totals& totals) {
  current_target = target.name.c_str();
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    current_seed = seed;
    Random random(seed);
    const std::string bytes = mutant_of(target, random);
    Answer answer;
    std::string what;
    try {
      what = target.run(bytes, &answer);
    } catch (const std::exception& error) {
      what = std::string("an exception: ") + error.what();
    }
    ++totals.inputs;
    totals.accepted += answer.accepted ? 1 : 0;
    if (what.empty()) continue;
    ++failures;
    FAIL_CHECK(target.name << ": HEARTH_FUZZ_COUNT=1 HEARTH_FUZZ_SEED=" << seed << ": " << what);
  }
}

void report(const char* what, const Totals& totals) {
  std::cout << what << ": " << totals.inputs << " mutants, " << totals.accepted << " accepted" << std::endl;
}

TEST_CASE("sound inputs of every decoder are accepted") {
  for (const Target& target : targets()) {
    INFO(target.name);
    for (const std::string& bytes : target.corpus) {
      Answer answer;
      CHECK(target.run(bytes, &answer) == "");
      CHECK(answer.message == "");
      CHECK(answer.accepted);
    }
  }
}

TEST_CASE("mutants from fixed seeds are refused or decoded, never a crash") {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_seed);
  for (const Target& target : targets()) {
    Totals totals;
    check_mutants(target, 1, target.num_inputs / 2, totals);
    report(target.name.c_str(), totals);
    CHECK(totals.accepted < totals.inputs);  // the mutator still reaches both sides
    CHECK(totals.accepted > totals.inputs / 100);
  }
}

TEST_CASE("mutants from fresh seeds are refused or decoded, never a crash") {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_seed);
  const std::uint64_t first = test::fresh_seed();
  Totals totals;
  for (const Target& target : targets()) check_mutants(target, first, test::fresh_count(target.num_inputs / 2), totals);
  report("fresh seeds", totals);
  CHECK(totals.inputs > 0);
}

}  // namespace
}  // namespace hearth::fuzz
