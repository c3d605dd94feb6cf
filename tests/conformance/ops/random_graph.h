// Random typed DAGs of wire ops, with feeds and the error each value may have.
//
// Float values are small integers as long as possible, where every op is exact, so that a wrong index shows at once;
// the result of an inexact op is only used where errors stay bounded, and its bound is tracked.
//
//   RandomGraph random = random_graph(seed);
//   std::string what = find_disagreement(random);     // reduced to the first node that is wrong
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/ops/feeds.h"

namespace hearth::conformance {

struct RandomGraph {
  v1::Graph graph;
  std::vector<Feed> feeds;     // variables at their least, greatest and middle values
  std::vector<double> errors;  // a node: greatest absolute error, 0 = exact
};

// What graphs are made of. A seed means another graph under another palette, so a new op or dtype gets a new palette:
// the seeds that once showed an error keep their graphs.
enum class Palette { kBeforeFp8, kBeforeScatter, kAll };

// HEARTH_FUZZ_GRAPHS and the like.
std::uint64_t number_from(const char* variable, std::uint64_t fallback);

RandomGraph random_graph(std::uint64_t seed, Palette palette = Palette::kAll);

// Runs all feeds in all executions; "" if they agree, else what differs and the least graph that shows it.
std::string find_disagreement(const RandomGraph& random, const v1::Target& target);

}  // namespace hearth::conformance
