// The seed of what a test draws anew in every run, beside its fixed cases: HEARTH_FUZZ_SEED when it is set, else the
// kernel's random numbers. Every case that asks is named with its seed after the run and in the summary of
// scripts/test.sh, so that what was found is found again: HEARTH_FUZZ_SEED=123 build/release/bin/x_test "case".
//
//   const std::uint64_t first = test::fresh_seed();
//   for (std::uint64_t seed = first; seed < first + 100; ++seed) check(random_graph(seed));
#pragma once
#include <cstdint>

namespace hearth::test {

std::uint64_t fresh_seed();
// HEARTH_FUZZ_COUNT when it is set, else `usual`: how many are drawn.
std::uint64_t fresh_count(std::uint64_t usual);

}  // namespace hearth::test
